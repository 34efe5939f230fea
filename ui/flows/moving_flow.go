package flows

import (
	"maps"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// movingFlow is the picture of one flow that moves: it is counted between polls, and dots run along its arrows. A
// screen with one passes it the messages that moved handles, and calls seen before it draws.
type movingFlow struct {
	env    *shell.Env
	Worker model.QueueRef
	latest shell.TopologyMsg
	Flow   *model.Flow // of the newest poll that had it
	gone   bool        // the newest poll does not have it
	own    []*findings.Finding
	Cursor model.QueueRef
	liveFlow

	picture *picture.Picture
	second  time.Time // in which it was drawn: due times count down between polls
	dots    picture.Dots
	ticking shell.Request // the awaited step; 0: nothing moves
	drawn   flowDrawing
}

func newMovingFlow(e *shell.Env, worker model.QueueRef) movingFlow {
	return movingFlow{
		env:    e,
		Worker: worker,
		Cursor: worker,
		dots:   picture.Dots{},
		drawn:  flowDrawing{stepped: -1},
	}
}

// flowDrawing is what was last prepared. frames counts how often: on an invisible screen nothing moves.
type flowDrawing struct {
	frames  int
	stepped int // frames at the last step
	of      drawnOf
	scene   *picture.Scene
}

// drawnOf is what a scene is laid out for.
type drawnOf struct {
	picture       *picture.Picture
	width, height int
	cursor        model.QueueRef
}

type dotStepMsg struct{ request shell.Request }

// moved applies what changes the picture: a poll, counts, or a step of its dots.
func (m *movingFlow) moved(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		m.latest = msg
		i := slices.IndexFunc(msg.Flows, func(f model.Flow) bool { return f.Worker.Queue == m.Worker })
		if m.gone = i < 0; m.gone {
			return nil
		}
		m.Flow = &msg.Flows[i]
		m.own = msg.About.Flow(m.Flow)
		if m.watch == nil {
			m.watch = watch.New(msg.Topology, m.Flow)
		}

		m.watch.Poll(msg.Topology, m.Flow, msg.Held)
		m.rate(msg.Topology.Snapshot.TakenAt)
		return m.redraw()
	case shell.CountedMsg:
		if m.Flow == nil {
			return nil
		}
		m.latest.Topology = msg.Topology
		if !m.gone && m.counted(msg) {
			return m.redraw()
		}
	case dotStepMsg:
		if msg.request == m.ticking {
			return m.step()
		}
	}

	return nil
}

// seen updates the picture to this second, and reports whether there is one. When it is invisible nothing moves.
func (m *movingFlow) seen() bool {
	m.drawn.frames++
	if m.picture != nil && !m.gone && !m.second.Equal(m.env.Shown.Truncate(time.Second)) {
		m.draw(m.env.Shown)
	}
	return m.picture != nil
}

// Watched returns the queues of the flow, by how each may be counted.
func (m *movingFlow) Watched() (declare, totals []model.QueueRef) {
	if m.watch == nil || m.gone {
		return nil, nil
	}
	return m.latest.Topology.CountableOf(m.watch.Queues())
}

func (m *movingFlow) redraw() tea.Cmd {
	m.rememberHeads(m.latest.History)
	m.draw(m.env.Now())
	if !slices.ContainsFunc(m.picture.Stations(), func(x picture.Station) bool { return x.Queue == m.Cursor }) {
		m.Cursor = m.Worker
	}

	if m.ticking == 0 && !m.env.Plain && (len(m.dots) > 0 || slices.ContainsFunc(m.picture.Arrows(),
		func(a picture.Arrow) bool { return a.Now() > 0 })) {
		return m.tick()
	}

	return nil
}

func (m *movingFlow) tick() tea.Cmd {
	m.ticking = m.env.NewRequest()
	id := m.ticking
	return tea.Tick(m.env.DotStep, func(time.Time) tea.Msg { return dotStepMsg{id} })
}

// step moves the dots, as long as something moves and is visible.
func (m *movingFlow) step() tea.Cmd {
	m.ticking = 0
	d := &m.drawn
	if d.frames == d.stepped || d.scene == nil {
		return nil // not seen since the last step: the next poll starts it again
	}
	d.stepped = d.frames
	m.dots = m.dots.Step(d.scene.Paths)
	if !m.dots.Moving(d.scene.Paths) {
		return nil
	}

	return m.tick()
}

// scene returns the picture laid out: as boxes if they fit into the width and the height, otherwise as a rail.
func (m *movingFlow) scene(width, height int) *picture.Scene {
	d, of := &m.drawn, drawnOf{m.picture, width, height, m.Cursor}
	if d.scene != nil && d.of == of {
		return d.scene
	}
	d.of = of

	wide, ok := picture.WideLayout(m.picture, width, m.Cursor)
	if ok && !m.env.Plain && wide.Canvas.Height <= height {
		d.scene = wide
	} else {
		d.scene = picture.RailLayout(m.picture, width, m.Cursor)
	}

	return d.scene
}

func (m *movingFlow) draw(now time.Time) {
	msg := m.into(m.latest, now)
	m.picture, m.second = picture.Of(m.Flow, msg.Moment(now)), now.Truncate(time.Second)
}

// liveFlow is what a flow screen knows between two polls. Only the screen's Update changes it.
type liveFlow struct {
	watch  *watch.Watch // nil before the first poll
	rates  map[model.QueueRef]watch.Rates
	newest time.Time     // the newest count
	every  time.Duration // between two counts; 0 before the first
	lanes  [2]error      // of the last count of each kind
}

// counted applies counts, and reports whether anything visible changed.
func (l *liveFlow) counted(msg shell.CountedMsg) (changed bool) {
	changed = (l.lanes[msg.Lane] == nil) != (msg.Err == nil)
	l.lanes[msg.Lane] = msg.Err
	if msg.Err != nil || l.watch == nil {
		return changed
	}
	l.every = msg.Every
	for _, q := range msg.Counts.Queues {
		if !q.Held && q.Ready.Known() {
			l.newest = msg.Counts.At
		}
	}

	l.watch.Count(msg.Counts)
	return l.rate(msg.Counts.At) || changed || msg.Changed
}

// rememberHeads passes on what is known of the heads of the queues: it stays true when this flow is no longer counted.
func (l *liveFlow) rememberHeads(h *polls.History) {
	for _, ref := range l.watch.Queues() {
		if head, ok := l.watch.HeadArrived(ref); ok {
			h.Saw(ref, head)
		}
	}
}

// rate works out the rates again, and reports whether one changed.
func (l *liveFlow) rate(now time.Time) bool {
	rates := l.watch.Rates(now)
	changed := !maps.Equal(rates, l.rates)
	l.rates = rates
	return changed
}

func (l *liveFlow) into(msg shell.TopologyMsg, now time.Time) shell.TopologyMsg {
	msg.Rates, msg.Watch = l.rates, l.watch
	if l.watch != nil {
		msg.Moves = l.watch.Moves(msg.Moves, l.rates, now)
	}
	return msg
}

// describeTracking say how well movement is known; bad when it is known badly.
func (l *liveFlow) describeTracking(now time.Time, t *model.Topology) (words string, bad bool) {
	for _, err := range l.lanes {
		if err != nil {
			return "followed by polls only: " + err.Error(), true
		}
	}

	fresh := now.Sub(l.newest) < shell.CountedFor
	switch {
	case !fresh:
		words = "from polls, up to 5s late"
	case l.every <= shell.DeclarePace.Least:
		words = "live, 4 counts a second"
	default:
		words = "counted every " + model.ShortDuration(l.every.Round(100*time.Millisecond))
	}

	o := t.Snapshot.Overview
	switch {
	case o.StatsOff || o.RatesMode == "none":
		words += "; statistics are off: deliveries to consumers are unknown"
	case fresh:
		old := max(now.Sub(t.Snapshot.TakenAt), 0)
		words += "; deliveries to consumers " + shell.Age(old) + " to " + shell.Age(old+model.StatisticsLag) + " late"
	}

	return words, false
}
