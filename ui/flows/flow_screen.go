package flows

import (
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
	"github.com/dlxtop/dlxtop/ui/trace"
)

const (
	leastLog      = 3
	findingsShare = 3 // findings get at least 1/3 of the room below the picture
)

// FlowScreen shows one flow as a picture that moves, with what is wrong with it and what moved lately. The cursor is on
// a queue.
type FlowScreen struct {
	movingFlow
	causes flowCauses
	chart  bool     // the queue under the cursor is charted
	lines  []string // as prepared
}

func NewFlowScreen(e *shell.Env, worker model.QueueRef) shell.Screen {
	return FlowScreen{movingFlow: newMovingFlow(e, worker), causes: newFlowCauses(e)}
}

func (s FlowScreen) Title() string { return model.Printable(s.Worker.String()) }
func (s FlowScreen) Typing() bool  { return s.causes.reading.Asks }

func (s FlowScreen) Keys() []key.Binding {
	k := s.env.Keys
	if s.Flow == nil || s.causes.reading.Asks {
		return s.causes.bindings()
	}
	keys := []key.Binding{term.Describe(k.Open, "messages")}
	if len(s.Flow.Failed) > 0 {
		keys = append(keys, k.Failed, k.Causes)
	}
	chart := k.Chart
	if s.chart {
		chart = term.Describe(k.Chart, "close the chart")
	}
	keys = append(keys, s.causes.bindings()...)
	return append(keys, k.Tap, chart, term.Describe(k.NextPane, "next queue"), term.Describe(k.PrevPane, "previous queue"))
}

func (s FlowScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg, shell.CountedMsg, dotStepMsg, causes.ReadMsg:
		cmd := tea.Batch(s.moved(msg), s.causes.update(msg, s.Worker))
		return s, cmd
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s FlowScreen) handleKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := s.env.Keys
	if s.Flow == nil {
		return s, nil
	}
	switch {
	case s.causes.handle(msg):
	case term.Is(msg, k.Open):
		return s, shell.Push(messages.NewScreen(s.env, s.opened()))
	case term.Is(msg, k.Failed):
		return s, s.openFailed()
	case term.Is(msg, k.Causes):
		if len(s.Flow.Failed) == 0 {
			return s, shell.Notice("this flow has no failed queue", true)
		}
		return s, shell.Push(causes.NewFailedScreen(s.env, s.Worker))
	case term.Is(msg, k.Tap):
		return s, trace.TapFlow(s.env, s.latest.Topology, s.Flow, s.Cursor)
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
func (s FlowScreen) opened() model.QueueRef {
	for _, b := range s.Flow.Buffers {
		if b.Queue == s.Cursor {
			if levels := s.latest.Holding(b); len(levels) > 0 {
				return levels[0].Ref
			}
		}
	}
	return s.Cursor
}

// openFailed opens the failed queue under the cursor, else the first one that holds messages.
func (s FlowScreen) openFailed() tea.Cmd {
	if len(s.Flow.Failed) == 0 {
		return shell.Notice("this flow has no failed queue", true)
	}
	open := s.Flow.Failed[0].Queue
	for _, m := range slices.Backward(s.Flow.Failed) {
		if shell.ReadyOf(s.latest.Topology, m.Queue).Or(0) > 0 {
			open = m.Queue
		}
	}
	if s.Flow.Role(s.Cursor) == model.FailedRole {
		open = s.Cursor
	}
	return shell.Push(messages.NewScreen(s.env, open))
}

// move goes to another queue of the picture; round goes from the last to the first.
func (s *FlowScreen) move(by int, round bool) {
	stations := s.picture.Stations()
	at := slices.IndexFunc(stations, func(x picture.Station) bool { return x.Queue == s.Cursor }) + by
	if round {
		at = (at%len(stations) + len(stations)) % len(stations)
	}
	s.Cursor = stations[min(max(at, 0), len(stations)-1)].Queue
}

func (s FlowScreen) View(width, height int) string {
	page := term.Block(append(s.lines[:len(s.lines):len(s.lines)], s.causes.lines...), width, height)
	if s.causes.columns > 0 {
		columns := width - 1 - s.causes.columns
		page = term.Beside(s.env.Styles, term.Block(s.lines, columns, height),
			term.Block(s.causes.lines, s.causes.columns, height))
	}
	if s.causes.reading.Asks {
		dialog := causes.CostDialog(s.env.Styles, s.causes.reading.Costly(), width)
		return term.Overlay(s.env.Styles, page, dialog, width, height)
	}
	return page
}

// Prepare lays the picture out, and tells what is below it and beside it.
func (s FlowScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	if s.seen() {
		s.causes.place(&s.movingFlow, width)
		columns := s.causes.columns
		if columns > 0 {
			s.lines = s.laid(width-1-columns, height)
			return s, s.causes.prepare(s.Cursor, columns, height)
		}
		s.lines = s.laid(width, height)
		return s, s.causes.prepare(s.Cursor, width, height-len(s.lines))
	}
	words := "reading …"
	if s.gone {
		words = "there is no flow with the worker " + s.Title() + " any more"
	}
	s.lines = []string{"", "   " + s.env.Styles.Muted.Render(words)}
	return s, nil
}

// laid are the lines of the screen.
func (s FlowScreen) laid(width, height int) []string {
	log, kept := s.belowRows(height)
	styles, sc := s.env.Styles, s.scene(width, height-len(s.own)-log-kept-3)
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
		from = min(max(sc.Rows[s.Cursor]-rows/2, 0), hidden)
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
	findings := s.findingLines(width, max(room-min(len(s.live.watch.Log())+2, log)-1, room/findingsShare))
	lines = append(lines, findings...)
	lines = append(lines, "")
	if room = height - len(lines); s.causes.columns > 0 || len(s.causes.reading.Order) == 0 || room < log+causesBelow {
		return append(lines, s.logLines(width, room)...)
	}
	moved := append(s.logLines(width, log), make([]string, log)...)
	return append(lines, moved[:log]...)
}

// belowRows are the lines of the log below the picture, and those that are kept for causes: on a low terminal a smaller
// picture leaves them.
func (s FlowScreen) belowRows(height int) (log, kept int) {
	if height >= messages.SplitHeight || len(s.causes.reading.Order) == 0 {
		return leastLog + 1, 0
	}
	return 2, causesBelow
}

// chartOf charts the queue under the cursor over five minutes, where there is room.
func (s FlowScreen) chartOf(width, height int) []string {
	columns := picture.ChartColumns(width, height)
	if columns == 0 {
		return nil
	}
	now := s.env.Shown
	points := s.live.watch.Trace(s.Cursor, now, columns)
	if s.latest.History != nil { // what was polled before this screen was open
		for i, depth := range s.latest.History.Ready(now, columns, s.Cursor) {
			if depth >= 0 && !points[i].Depth.Known() {
				points[i].Depth = model.Some(depth)
			}
		}
	}
	chart := picture.Chart{Queue: s.Cursor, Points: points, Span: shell.HistorySpan}
	chart.Now = s.live.into(s.latest, now).Moves[s.Cursor]
	return chart.Lines(s.env.Styles, height)
}

// Reopening implements reopening.
func (s FlowScreen) Reopening() func() shell.Screen {
	e, worker, cursor := s.env, s.Worker, s.Cursor
	return func() shell.Screen {
		next := NewFlowScreen(e, worker).(FlowScreen)
		next.Cursor = cursor
		return next
	}
}
