package ui

import (
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

const (
	leastLog      = 3
	findingsShare = 3 // findings get one of so many parts of the room below the picture, at least
)

// flowScreen shows one flow as a picture that moves, with what is wrong with it and what moved lately. The cursor is on a queue.
type flowScreen struct {
	env    *env
	worker model.QueueRef
	latest topologyMsg
	flow   *model.Flow // of the newest poll that had it
	gone   bool        // the newest poll does not have it
	own    []model.Finding
	cursor model.QueueRef
	live   *liveFlow
	chart  bool // the queue under the cursor is charted

	picture *picture
	dots    dots
	ticking request // the step that is awaited; 0: nothing moves
	drawn   *flowDrawing
}

// now is the picture as it is this second: what is due counts down between two polls.
func (d *flowDrawing) now(s flowScreen) *picture {
	second := s.env.now().Truncate(time.Second)
	if d.of != s.picture || !d.second.Equal(second) {
		d.of, d.second, d.fresh = s.picture, second, s.picture
		if !s.gone {
			d.fresh = flowPicture(s.flow, s.live.into(s.latest, s.env.now()), s.env.now())
		}
	}
	return d.fresh
}

// flowDrawing is what the last view made. frames counts views: a screen that is not seen moves nothing.
type flowDrawing struct {
	frames  int
	stepped int // frames at the last step
	picture *picture
	width   int
	cursor  model.QueueRef
	scene   *scene

	of     *picture  // the poll's picture, of which
	fresh  *picture  // is this one,
	second time.Time // in this second
}

// dotStepMsg moves the dots one cell on.
type dotStepMsg struct{ request request }

func newFlowScreen(e *env, worker model.QueueRef) screen {
	return flowScreen{env: e, worker: worker, cursor: worker, dots: dots{}, live: newLiveFlow(), drawn: &flowDrawing{stepped: -1}}
}

func (s flowScreen) Init() tea.Cmd { return nil }
func (s flowScreen) Title() string { return model.Printable(s.worker.String()) }
func (s flowScreen) Typing() bool  { return false }

func (s flowScreen) Keys() []key.Binding {
	k := s.env.keys
	if s.flow == nil {
		return nil
	}
	keys := []key.Binding{describe(k.Open, "messages")}
	if len(s.flow.Failed) > 0 {
		keys = append(keys, k.Failed)
	}
	chart := k.Chart
	if s.chart {
		chart = describe(k.Chart, "close the chart")
	}
	return append(keys, k.Tap, chart, describe(k.NextPane, "next queue"), describe(k.PrevPane, "previous queue"))
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
	s.picture = flowPicture(s.flow, s.live.into(s.latest, now), now)
	if !slices.ContainsFunc(s.picture.stations(), func(x station) bool { return x.queue == s.cursor }) {
		s.cursor = s.worker
	}
	if s.ticking == 0 && (len(s.dots) > 0 || slices.ContainsFunc(s.picture.arrows(), func(a arrow) bool { return a.now() > 0 })) {
		return s.tick()
	}
	return s, nil
}

// tick awaits the next step of the dots.
func (s flowScreen) tick() (screen, tea.Cmd) {
	s.ticking = s.env.newRequest()
	id := s.ticking
	return s, tea.Tick(dotStep, func(time.Time) tea.Msg { return dotStepMsg{id} })
}

// step moves the dots, as long as something moves and somebody looks.
func (s flowScreen) step() (screen, tea.Cmd) {
	s.ticking = 0
	d := s.drawn
	if d.frames == d.stepped || d.scene == nil {
		return s, nil // not seen since the last step: the next poll starts it again
	}
	d.stepped = d.frames
	s.dots = s.dots.step(d.scene.paths)
	if !s.dots.moving(d.scene.paths) {
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
	case is(msg, k.Open):
		return s, push(newMessagesScreen(s.env, s.cursor))
	case is(msg, k.Failed):
		return s, s.openFailed()
	case is(msg, k.Tap):
		return s, s.tap()
	case is(msg, k.Chart):
		s.chart = !s.chart
	case is(msg, k.NextPane), is(msg, k.Down), is(msg, k.Later):
		s.move(1, is(msg, k.NextPane))
	case is(msg, k.PrevPane), is(msg, k.Up), is(msg, k.Earlier):
		s.move(-1, is(msg, k.PrevPane))
	case is(msg, k.Top):
		s.move(-1<<20, false)
	case is(msg, k.Bottom):
		s.move(1<<20, false)
	case is(msg, k.HalfDown), is(msg, k.PageDown):
		s.move(listRows, false)
	case is(msg, k.HalfUp), is(msg, k.PageUp):
		s.move(-listRows, false)
	}
	return s, nil
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
	stations := s.picture.stations()
	at := slices.IndexFunc(stations, func(x station) bool { return x.queue == s.cursor }) + by
	if round {
		at = (at%len(stations) + len(stations)) % len(stations)
	}
	s.cursor = stations[min(max(at, 0), len(stations)-1)].queue
}

func (s flowScreen) View(width, height int) string {
	s.drawn.frames++
	styles := s.env.styles
	if s.picture == nil {
		words := "reading …"
		if s.gone {
			words = "there is no flow with the worker " + s.Title() + " any more"
		}
		return block([]string{"", "   " + styles.Muted.Render(words)}, width, height)
	}
	s.picture = s.drawn.now(s)
	sc := s.scene(width, height)
	below := s.captionLines(width, height)
	if s.gone {
		below = append([]string{" " + styles.Danger.Render(markError+" this flow is no more: this is how it was last")}, below...)
	}
	least := min(len(below)+2+leastLog+len(s.own), height/2)
	rows := min(sc.canvas.height, max(height-least-2, height/3))
	if s.chart {
		rows = min(sc.canvas.height, max(height-len(below)-leastChart-chartLog-3, leastLog+1))
	}
	from := 0
	if hidden := sc.canvas.height - rows; hidden > 0 {
		from = min(max(sc.rows[s.cursor]-rows/2, 0), hidden)
	}
	lines := []string{""}
	lines = append(lines, s.dots.draw(sc).render(styles, from, from+rows)...)
	if rows < sc.canvas.height {
		lines[0] = pad(styles.Muted.Render("  "+model.Count(int64(len(s.picture.stations())))+" queues: ↑ ↓ move through them"), width)
	}
	lines = append(lines, "")
	lines = append(lines, below...)
	if s.chart {
		lines = append(lines, s.chartLines(width, height-len(lines)-chartLog-1)...)
		lines = append(lines, "")
		lines = append(lines, s.logLines(width, height-len(lines))...)
		return block(lines, width, height)
	}
	room := height - len(lines)
	log := min(len(s.live.watch.Log())+2, leastLog+1)
	findings := s.findingLines(width, max(room-log-1, room/findingsShare))
	lines = append(lines, findings...)
	lines = append(lines, "")
	lines = append(lines, s.logLines(width, height-len(lines))...)
	return block(lines, width, height)
}

// scene is the picture laid out: as boxes where they fit, else as a rail.
func (s flowScreen) scene(width, height int) *scene {
	d := s.drawn
	if d.scene != nil && d.picture == s.picture && d.width == width && d.cursor == s.cursor {
		return d.scene
	}
	d.picture, d.width, d.cursor = s.picture, width, s.cursor
	wide, ok := wideLayout(s.picture, width, s.cursor)
	if ok && wide.canvas.height+len(s.own)+leastLog+4 <= height {
		d.scene = wide
	} else {
		d.scene = railLayout(s.picture, width, s.cursor)
	}
	return d.scene
}

// captionLines tell what the queue under the cursor is, and why dlxtop thinks so.
func (s flowScreen) captionLines(width, height int) []string {
	styles := s.env.styles
	var reason string
	var due []span
	for i := range s.flow.Buffers {
		if b := &s.flow.Buffers[i]; b.Queue == s.cursor {
			reason = string(b.Role) + " buffer: " + b.Reason
			due = s.latest.bufferLines(b, s.env.keys.Open.Help().Key, s.env.now())
		}
	}
	if s.flow.Worker.Queue == s.cursor {
		reason = "worker: " + s.flow.Worker.Reason
		due = s.latest.comingLines(s.flow, s.env.now())
	}
	for _, m := range s.flow.Failed {
		if m.Queue == s.cursor {
			reason = "failed queue: " + m.Reason
		}
	}
	var lines []string
	words := wrap(model.Printable(s.cursor.Name)+"  "+model.Printable(reason), width-4)
	if most := captionRows(height); len(words) > most {
		words = append(words[:most-1:most-1], ansi.Truncate(words[most-1], width-6, "")+" …")
	}
	for i, l := range words {
		mark := "   "
		if i == 0 {
			mark = " " + styles.Accent.Render(markCursor) + " "
		}
		lines = append(lines, mark+styles.Muted.Render(l))
	}
	for _, l := range due {
		for _, words := range wrap(l.text, width-4) {
			lines = append(lines, "   "+styles.tone(l.tone).Render(words))
		}
	}
	return lines
}

func captionRows(height int) int {
	if height < splitHeight {
		return 1
	}
	return 2
}

// findingLines are the flow's findings, the worst first, with the remedy of the first.
func (s flowScreen) findingLines(width, room int) []string {
	styles := s.env.styles
	var lines []string
	for i, f := range s.own {
		mark := levelMark(f.Level)
		for j, l := range wrap(model.Printable(f.Message), width-4) {
			head := "   "
			if j == 0 {
				head = " " + styles.mark(mark).Render(mark) + " "
			}
			lines = append(lines, head+styles.mark(mark).Render(l))
		}
		if i == 0 && f.Remedy != "" {
			for _, l := range wrap("do: "+model.Printable(f.Remedy), width-4) {
				lines = append(lines, "   "+l)
			}
		}
	}
	if len(lines) <= room {
		return lines
	}
	if room < 2 {
		return nil
	}
	return append(lines[:room-1], "   "+styles.Muted.Render("… "+s.env.keys.Screens[3].Help().Key+" Findings tells the rest"))
}
