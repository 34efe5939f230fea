package flows

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// movingFlow is the picture of one flow that moves: it is counted between two polls, and dots run along its arrows. A
// screen that shows one gives it the messages that moved names, and calls seen before it draws.
type movingFlow struct {
	env    *shell.Env
	Worker model.QueueRef
	latest shell.TopologyMsg
	Flow   *model.Flow // of the newest poll that had it
	gone   bool        // the newest poll does not have it
	own    []*findings.Finding
	Cursor model.QueueRef
	live   *liveFlow

	picture *picture.Picture
	dots    picture.Dots
	ticking shell.Request // the step that is awaited; 0: nothing moves
	drawn   *flowDrawing
}

func newMovingFlow(e *shell.Env, worker model.QueueRef) movingFlow {
	return movingFlow{
		env: e, Worker: worker, Cursor: worker, dots: picture.Dots{}, live: &liveFlow{},
		drawn: &flowDrawing{stepped: -1},
	}
}

// flowDrawing is what was prepared last. frames counts how often: a screen that is not seen moves nothing.
type flowDrawing struct {
	frames  int
	stepped int // frames at the last step
	picture *picture.Picture
	width   int
	height  int
	cursor  model.QueueRef
	scene   *picture.Scene

	of     *picture.Picture // the poll's picture, of which
	fresh  *picture.Picture // is this one,
	second time.Time        // in this second
}

// now is the picture as it is this second: what is due counts down between two polls.
func (d *flowDrawing) now(m *movingFlow) *picture.Picture {
	second := m.env.Shown.Truncate(time.Second)
	if d.of != m.picture || !d.second.Equal(second) {
		d.of, d.second, d.fresh = m.picture, second, m.picture
		if !m.gone {
			d.fresh = m.draw(m.env.Shown)
		}
	}
	return d.fresh
}

// dotStepMsg moves the dots one cell on.
type dotStepMsg struct{ request shell.Request }

// moved takes in what changes the picture: a poll, counts, or a step of its dots.
func (m *movingFlow) moved(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		return m.polled(msg)
	case shell.CountedMsg:
		return m.counted(msg)
	case dotStepMsg:
		if msg.request == m.ticking {
			return m.step()
		}
	}
	return nil
}

// seen brings the picture up to this second, and reports whether there is one. What is not seen moves nothing.
func (m *movingFlow) seen() bool {
	m.drawn.frames++
	if m.picture == nil {
		return false
	}
	m.picture = m.drawn.now(m)
	return true
}

func (m *movingFlow) polled(msg shell.TopologyMsg) tea.Cmd {
	m.latest = msg
	i := slices.IndexFunc(msg.Flows, func(f model.Flow) bool { return f.Worker.Queue == m.Worker })
	if m.gone = i < 0; m.gone {
		return nil
	}
	m.Flow = &msg.Flows[i]
	m.own = msg.About.Flow(m.Flow)
	m.live.polled(msg, m.Flow)
	return m.redraw()
}

// counted takes in counts between two polls.
func (m *movingFlow) counted(msg shell.CountedMsg) tea.Cmd {
	if m.Flow == nil {
		return nil
	}
	m.latest.Topology = msg.Topology
	if m.gone || !m.live.counted(msg) {
		return nil
	}
	return m.redraw()
}

// Watched are the queues of the flow, as each may be counted.
func (m movingFlow) Watched() (declare, totals []model.QueueRef) {
	if m.live.watch == nil || m.gone {
		return nil, nil
	}
	return m.latest.Topology.CountableOf(m.live.watch.Queues())
}

// redraw makes the picture of what is known now.
func (m *movingFlow) redraw() tea.Cmd {
	now := m.env.Now()
	m.live.keep(m.latest.History)
	m.picture = m.draw(now)
	if !slices.ContainsFunc(m.picture.Stations(), func(x picture.Station) bool { return x.Queue == m.Cursor }) {
		m.Cursor = m.Worker
	}
	if m.ticking == 0 && !m.env.Styles.Plain && (len(m.dots) > 0 || slices.ContainsFunc(m.picture.Arrows(),
		func(a picture.Arrow) bool { return a.Now() > 0 })) {
		return m.tick()
	}
	return nil
}

// tick awaits the next step of the dots.
func (m *movingFlow) tick() tea.Cmd {
	m.ticking = m.env.NewRequest()
	id := m.ticking
	return tea.Tick(m.env.DotStep, func(time.Time) tea.Msg { return dotStepMsg{id} })
}

// step moves the dots, as long as something moves and somebody looks.
func (m *movingFlow) step() tea.Cmd {
	m.ticking = 0
	d := m.drawn
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

// scene is the picture laid out: as boxes where they fit into the width and the height, else as a rail.
func (m movingFlow) scene(width, height int) *picture.Scene {
	d := m.drawn
	if d.scene != nil && d.picture == m.picture && d.width == width && d.height == height && d.cursor == m.Cursor {
		return d.scene
	}
	d.picture, d.width, d.height, d.cursor = m.picture, width, height, m.Cursor
	wide, ok := picture.WideLayout(m.picture, width, m.Cursor)
	if ok && !m.env.Styles.Plain && wide.Canvas.Height <= height {
		d.scene = wide
	} else {
		d.scene = picture.RailLayout(m.picture, width, m.Cursor)
	}
	return d.scene
}

// draw is the picture of the flow as it is known now.
func (m movingFlow) draw(now time.Time) *picture.Picture {
	msg := m.live.into(m.latest, now)
	return picture.Of(m.Flow, msg.Moment(now))
}
