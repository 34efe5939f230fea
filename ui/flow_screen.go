package ui

import (
	"slices"

	"github.com/charmbracelet/bubbles/key"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	leastLog      = 3
	findingsShare = 3 // findings get at least 1/3 of the room below the picture
)

// flowScreen shows one flow as a picture that moves, with what is wrong with it and what moved lately. The cursor is on
// a queue.
type flowScreen struct {
	movingFlow
	causes flowCauses
	chart  bool     // the queue under the cursor is charted
	lines  []string // as prepared
}

func newFlowScreen(e *env, worker model.QueueRef) screen {
	return flowScreen{movingFlow: newMovingFlow(e, worker), causes: newFlowCauses(e)}
}

func (s flowScreen) Init() tea.Cmd { return nil }
func (s flowScreen) Title() string { return model.Printable(s.worker.String()) }
func (s flowScreen) Typing() bool  { return false }

func (s flowScreen) Keys() []key.Binding {
	k := s.env.keys
	if s.flow == nil {
		return nil
	}
	keys := []key.Binding{term.Describe(k.Open, "messages")}
	if len(s.flow.Failed) > 0 {
		keys = append(keys, k.Failed, k.Causes)
	}
	chart := k.Chart
	if s.chart {
		chart = term.Describe(k.Chart, "close the chart")
	}
	return append(keys, k.Tap, chart, term.Describe(k.NextPane, "next queue"), term.Describe(k.PrevPane, "previous queue"))
}

func (s flowScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg, countedMsg, dotStepMsg, causesReadMsg:
		cmd := tea.Batch(s.moved(msg), s.causes.update(msg, s.worker))
		return s, cmd
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s flowScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	if s.flow == nil {
		return s, nil
	}
	switch {
	case term.Is(msg, k.Open):
		return s, push(newMessagesScreen(s.env, s.opened()))
	case term.Is(msg, k.Failed):
		return s, s.openFailed()
	case term.Is(msg, k.Causes):
		if len(s.flow.Failed) == 0 {
			return s, notice("this flow has no failed queue", true)
		}
		return s, push(newFailedScreen(s.env, s.worker))
	case term.Is(msg, k.Tap):
		return s, tapFlow(s.env, s.latest.topology, s.flow, s.cursor)
	case term.Is(msg, k.Chart):
		s.chart = !s.chart
	case term.Is(msg, k.NextPane), term.Is(msg, k.Down), term.Is(msg, k.Later):
		s.move(1, term.Is(msg, k.NextPane))
	case term.Is(msg, k.PrevPane), term.Is(msg, k.Up), term.Is(msg, k.Earlier):
		s.move(-1, term.Is(msg, k.PrevPane))
	case term.Is(msg, k.Top):
		s.move(-1<<20, false)
	case term.Is(msg, k.Bottom):
		s.move(1<<20, false)
	case term.Is(msg, k.HalfDown), term.Is(msg, k.PageDown):
		s.move(picture.ListRows, false)
	case term.Is(msg, k.HalfUp), term.Is(msg, k.PageUp):
		s.move(-picture.ListRows, false)
	}
	return s, nil
}

// opened is the queue whose messages are looked at: of levels that delay as one the level that holds most.
func (s flowScreen) opened() model.QueueRef {
	for _, b := range s.flow.Buffers {
		if b.Queue == s.cursor {
			if levels := s.latest.holding(b); len(levels) > 0 {
				return levels[0].ref
			}
		}
	}
	return s.cursor
}

// openFailed opens the failed queue under the cursor, else the first one that holds messages.
func (s flowScreen) openFailed() tea.Cmd {
	if len(s.flow.Failed) == 0 {
		return notice("this flow has no failed queue", true)
	}
	open := s.flow.Failed[0].Queue
	for _, m := range slices.Backward(s.flow.Failed) {
		if readyOf(s.latest.topology, m.Queue).Or(0) > 0 {
			open = m.Queue
		}
	}
	if s.flow.Role(s.cursor) == model.FailedRole {
		open = s.cursor
	}
	return push(newMessagesScreen(s.env, open))
}

// move goes to another queue of the picture; round goes from the last to the first.
func (s *flowScreen) move(by int, round bool) {
	stations := s.picture.Stations()
	at := slices.IndexFunc(stations, func(x picture.Station) bool { return x.Queue == s.cursor }) + by
	if round {
		at = (at%len(stations) + len(stations)) % len(stations)
	}
	s.cursor = stations[min(max(at, 0), len(stations)-1)].Queue
}

func (s flowScreen) View(width, height int) string {
	if s.causes.columns == 0 {
		return term.Block(s.lines, width, height)
	}
	columns := width - 1 - s.causes.columns
	return term.Beside(s.env.styles, term.Block(s.lines, columns, height),
		term.Block(s.causes.lines, s.causes.columns, height))
}

// Prepare lays the picture out, and tells what is below it and beside it.
func (s flowScreen) Prepare(width, height int) (screen, tea.Cmd) {
	if s.seen() {
		s.causes.place(&s.movingFlow, width)
		if s.causes.columns > 0 {
			width -= 1 + s.causes.columns
		}
		s.lines = s.laid(width, height)
		return s, s.causes.prepare(height)
	}
	words := "reading …"
	if s.gone {
		words = "there is no flow with the worker " + s.Title() + " any more"
	}
	s.lines = []string{"", "   " + s.env.styles.Muted.Render(words)}
	return s, nil
}

// laid are the lines of the screen.
func (s flowScreen) laid(width, height int) []string {
	styles, sc := s.env.styles, s.scene(width, height-len(s.own)-leastLog-4)
	below := s.captionLines(width, height)
	if s.gone {
		below = append([]string{" " + styles.Danger.Render(term.MarkError+
			" this flow is no more: this is how it was last")}, below...)
	}
	least := min(len(below)+2+leastLog+len(s.own), height/2)
	rows := min(sc.Canvas.Height, max(height-least-2, height/3))
	if s.chart {
		rows = min(sc.Canvas.Height, max(height-len(below)-picture.LeastChart-picture.ChartLog-3, leastLog+1))
	}
	from := 0
	if hidden := sc.Canvas.Height - rows; hidden > 0 {
		from = min(max(sc.Rows[s.cursor]-rows/2, 0), hidden)
	}
	lines := []string{""}
	lines = append(lines, s.dots.Draw(sc).Render(styles, from, from+rows)...)
	if rows < sc.Canvas.Height {
		lines[0] = term.Pad(styles.Muted.Render("  "+model.Count(int64(len(s.picture.Stations())))+
			" queues: ↑ ↓ move through them"), width)
	}
	lines = append(lines, "")
	lines = append(lines, below...)
	if s.chart {
		lines = append(lines, s.chartOf(width, height-len(lines)-picture.ChartLog-1)...)
		lines = append(lines, "")
		return append(lines, s.logLines(width, height-len(lines))...)
	}
	room := height - len(lines)
	log := min(len(s.live.watch.Log())+2, leastLog+1)
	findings := s.findingLines(width, max(room-log-1, room/findingsShare))
	lines = append(lines, findings...)
	lines = append(lines, "")
	return append(lines, s.logLines(width, height-len(lines))...)
}

// chartOf charts the queue under the cursor over five minutes, where there is room.
func (s flowScreen) chartOf(width, height int) []string {
	columns := picture.ChartColumns(width, height)
	if columns == 0 {
		return nil
	}
	now := s.env.shown
	points := s.live.watch.Trace(s.cursor, now, columns)
	if s.latest.history != nil { // what was polled before this screen was open
		for i, depth := range s.latest.history.ready(now, columns, s.cursor) {
			if depth >= 0 && !points[i].Depth.Known() {
				points[i].Depth = model.Some(depth)
			}
		}
	}
	chart := picture.Chart{Queue: s.cursor, Points: points, Span: historySpan}
	chart.Now = s.live.into(s.latest, now).moves[s.cursor]
	return chart.Lines(s.env.styles, height)
}

// Reopening implements reopening.
func (s flowScreen) Reopening() func() screen {
	e, worker, cursor := s.env, s.worker, s.cursor
	return func() screen {
		next := newFlowScreen(e, worker).(flowScreen)
		next.cursor = cursor
		return next
	}
}
