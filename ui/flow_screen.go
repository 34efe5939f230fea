package ui

import (
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/model/findings"
	"dlxtop/ui/picture"
	"dlxtop/ui/term"
)

const (
	leastLog      = 3
	findingsShare = 3 // findings get one of so many parts of the room below the picture, at least
)

// flowScreen shows one flow as a picture that moves, with what is wrong with it and what moved lately. The cursor is on
// a queue.
type flowScreen struct {
	env    *env
	worker model.QueueRef
	latest topologyMsg
	flow   *model.Flow // of the newest poll that had it
	gone   bool        // the newest poll does not have it
	own    []findings.Finding
	cursor model.QueueRef
	live   *liveFlow
	chart  bool // the queue under the cursor is charted

	picture *picture.Picture
	dots    picture.Dots
	ticking request // the step that is awaited; 0: nothing moves
	drawn   *flowDrawing
	lines   []string // as prepared
}

// now is the picture as it is this second: what is due counts down between two polls.
func (d *flowDrawing) now(s flowScreen) *picture.Picture {
	second := s.env.shown.Truncate(time.Second)
	if d.of != s.picture || !d.second.Equal(second) {
		d.of, d.second, d.fresh = s.picture, second, s.picture
		if !s.gone {
			d.fresh = s.draw(s.env.shown)
		}
	}
	return d.fresh
}

// flowDrawing is what was prepared last. frames counts how often: a screen that is not seen moves nothing.
type flowDrawing struct {
	frames  int
	stepped int // frames at the last step
	picture *picture.Picture
	width   int
	cursor  model.QueueRef
	scene   *picture.Scene

	of     *picture.Picture // the poll's picture, of which
	fresh  *picture.Picture // is this one,
	second time.Time        // in this second
}

// dotStepMsg moves the dots one cell on.
type dotStepMsg struct{ request request }

func newFlowScreen(e *env, worker model.QueueRef) screen {
	return flowScreen{
		env: e, worker: worker, cursor: worker, dots: picture.Dots{}, live: newLiveFlow(),
		drawn: &flowDrawing{stepped: -1},
	}
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
		keys = append(keys, k.Failed)
	}
	chart := k.Chart
	if s.chart {
		chart = term.Describe(k.Chart, "close the chart")
	}
	return append(keys, k.Tap, chart, term.Describe(k.NextPane, "next queue"), term.Describe(k.PrevPane, "previous queue"))
}

func (s flowScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		return s.polled(msg)
	case countedMsg:
		return s.counted(msg)
	case dotStepMsg:
		if msg.request != s.ticking {
			return s, nil
		}
		return s.step()
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s flowScreen) polled(msg topologyMsg) (screen, tea.Cmd) {
	s.latest = msg
	i := slices.IndexFunc(msg.flows, func(f model.Flow) bool { return f.Worker.Queue == s.worker })
	if s.gone = i < 0; s.gone {
		return s, nil
	}
	s.flow = &msg.flows[i]
	s.own = findingsOf(s.flow, msg.findings)
	s.live.polled(msg, s.flow)
	return s.drawnAnew()
}

// counted takes in counts between two polls.
func (s flowScreen) counted(msg countedMsg) (screen, tea.Cmd) {
	if s.flow == nil || s.gone || !s.live.counted(msg) {
		return s, nil
	}
	return s.drawnAnew()
}

// watched are the queues of the flow, as each may be counted.
func (s flowScreen) watched() (declare, totals []model.QueueRef) {
	if s.live.watch == nil || s.gone {
		return nil, nil
	}
	for _, ref := range s.live.watch.Queues() {
		switch byDeclare, byTotals := s.latest.topology.Countable(ref); {
		case byDeclare:
			declare = append(declare, ref)
		case byTotals:
			totals = append(totals, ref)
		}
	}
	return declare, totals
}

// drawnAnew makes the picture of what is known now.
func (s flowScreen) drawnAnew() (screen, tea.Cmd) {
	now := s.env.now()
	s.live.keep(s.latest.history)
	s.latest.counts = s.live.fresh(now)
	s.picture = s.draw(now)
	if !slices.ContainsFunc(s.picture.Stations(), func(x picture.Station) bool { return x.Queue == s.cursor }) {
		s.cursor = s.worker
	}
	if s.ticking == 0 && (len(s.dots) > 0 || slices.ContainsFunc(s.picture.Arrows(),
		func(a picture.Arrow) bool { return a.Now() > 0 })) {
		return s.tick()
	}
	return s, nil
}

// tick awaits the next step of the dots.
func (s flowScreen) tick() (screen, tea.Cmd) {
	s.ticking = s.env.newRequest()
	id := s.ticking
	return s, tea.Tick(picture.DotStep, func(time.Time) tea.Msg { return dotStepMsg{id} })
}

// step moves the dots, as long as something moves and somebody looks.
func (s flowScreen) step() (screen, tea.Cmd) {
	s.ticking = 0
	d := s.drawn
	if d.frames == d.stepped || d.scene == nil {
		return s, nil // not seen since the last step: the next poll starts it again
	}
	d.stepped = d.frames
	s.dots = s.dots.Step(d.scene.Paths)
	if !s.dots.Moving(d.scene.Paths) {
		return s, nil
	}
	return s.tick()
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
	case term.Is(msg, k.Tap):
		return s, s.tap()
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
	for i := range s.flow.Buffers {
		if b := &s.flow.Buffers[i]; b.Queue == s.cursor {
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

func (s flowScreen) View(width, height int) string { return term.Block(s.lines, width, height) }

// Prepare lays the picture out, and tells what is below it.
func (s flowScreen) Prepare(width, height int) (screen, tea.Cmd) {
	s.drawn.frames++
	if s.picture != nil {
		s.picture = s.drawn.now(s)
		s.lines = s.laid(width, height)
		return s, nil
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
	styles, sc := s.env.styles, s.scene(width, height)
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

// scene is the picture laid out: as boxes where they fit, else as a rail.
func (s flowScreen) scene(width, height int) *picture.Scene {
	d := s.drawn
	if d.scene != nil && d.picture == s.picture && d.width == width && d.cursor == s.cursor {
		return d.scene
	}
	d.picture, d.width, d.cursor = s.picture, width, s.cursor
	wide, ok := picture.WideLayout(s.picture, width, s.cursor)
	if ok && wide.Canvas.Height+len(s.own)+leastLog+4 <= height {
		d.scene = wide
	} else {
		d.scene = picture.RailLayout(s.picture, width, s.cursor)
	}
	return d.scene
}

// draw is the picture of the flow as it is known now.
func (s flowScreen) draw(now time.Time) *picture.Picture {
	msg := s.live.into(s.latest, now)
	return picture.Of(s.flow, msg.moment(now))
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
	return picture.Chart{Queue: s.cursor, Points: points, Span: historySpan}.Lines(s.env.styles, height)
}
