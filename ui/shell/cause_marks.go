package shell

import (
	"context"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeMarks are what people said of causes: seen, resolved, ignored, and notes. The file is read with each look and
// changed by commands; what is known of it here is changed in Update only.
type causeMarks struct {
	env    *Env
	file   Marks
	States cause.States
	newest Request // of the answers that were taken: an older one may have read the file before a change
	failed string  // why the file cannot be used; "" when it can
}

// MarkedMsg brings the states as they are after a change; also with the answer of a look.
type MarkedMsg struct {
	request Request
	States  cause.States
	aside   string // where a damaged file was set aside; "" when there was none
	words   string // what was done, for a notice; "" when it is plain to see
	err     error
}

func NewCauseMarks(e *Env, file Marks) *causeMarks {
	if file == nil {
		file = &MarksInMemory{}
	}
	return &causeMarks{env: e, file: file, States: cause.States{}}
}

// MarksInMemory hold the file in memory: without a journal nothing is kept.
type MarksInMemory struct {
	mu   sync.Mutex
	text []byte
}

// Load implements Marks.
func (p *MarksInMemory) Load() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text, nil
}

// Change implements Marks.
func (p *MarksInMemory) Change(how func([]byte) ([]byte, error)) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := how(p.text)
	if err == nil {
		p.text = text
	}
	return "", err
}

// Read reads the states of a broker, and writes down which causes have come back by what was just read of them. It runs
// outside Update.
func (c *causeMarks) Read(id Request, broker string, list []cause.Group, now time.Time) MarkedMsg {
	msg := MarkedMsg{request: id}
	text, err := c.file.Load()
	if err == nil {
		msg.States, err = cause.StatesIn(text, broker)
	}
	if err != nil {
		msg.err = err
		return msg
	}
	back := map[cause.ID]cause.Mark{}
	for i := range list {
		if m := msg.States.Now(&list[i], now); m.State != msg.States.Of(list[i].ID).State {
			back[list[i].ID] = m
		}
	}
	if len(back) > 0 {
		return c.written(id, broker, func(s cause.States) {
			for i := range list {
				if s.Of(list[i].ID).State == cause.Resolved && back[list[i].ID].State == cause.Back {
					s.Mark(&list[i], cause.Back, now)
				}
			}
		})
	}
	return msg
}

// written changes the file.
func (c *causeMarks) written(id Request, broker string, how func(cause.States)) MarkedMsg {
	msg := MarkedMsg{request: id}
	msg.aside, msg.err = c.file.Change(func(text []byte) ([]byte, error) {
		changed, err := cause.WithStates(text, broker, how)
		if err == nil {
			msg.States, err = cause.StatesIn(changed, broker)
		}
		return changed, err
	})
	return msg
}

// change has the file changed. words say what was done.
func (c *causeMarks) change(t *model.Topology, words string, how func(cause.States)) tea.Cmd {
	id, broker := c.env.NewRequest(), t.Snapshot.Overview.ClusterName
	return c.env.Command(KeepingTime, func(context.Context) tea.Msg {
		msg := c.written(id, broker, how)
		msg.words = words
		return msg
	})
}

// Take takes an answer, and says what there is to say of it.
func (c *causeMarks) Take(msg MarkedMsg) tea.Cmd {
	before := c.failed
	switch {
	case msg.err != nil:
		if c.failed = msg.err.Error(); c.failed != before {
			return Notice("the states of causes cannot be used: "+model.Printable(c.failed), true)
		}
		return nil
	case msg.request > c.newest:
		c.newest, c.States, c.failed = msg.request, msg.States, ""
	}
	if msg.aside != "" {
		return Notice("the states of causes were damaged: they begin again, and the old file is "+msg.aside, true)
	}
	if msg.words != "" {
		return Notice(msg.words, false)
	}
	return nil
}

// Open marks a new cause as seen.
func (c *causeMarks) Open(t *model.Topology, g *cause.Group) tea.Cmd {
	if c.States.Of(g.ID).State != cause.New {
		return nil
	}
	now := c.env.Now()
	return c.change(t, "", func(s cause.States) {
		if s.Of(g.ID).State == cause.New {
			s.Mark(g, cause.Seen, now)
		}
	})
}

// Turn puts a cause into a state, or, when it is in it, back to seen.
func (c *causeMarks) Turn(t *model.Topology, g *cause.Group, state cause.State) tea.Cmd {
	if c.States.Of(g.ID).State == state {
		state = cause.Seen
	}
	now := c.env.Now()
	words := map[cause.State]string{
		cause.Resolved: "marked as resolved: when it fails again, it is shown as back",
		cause.Ignored:  "marked as ignored",
		cause.Seen:     "marked as seen",
	}[state]
	return c.change(t, words, func(s cause.States) { s.Mark(g, state, now) })
}

// Note keeps a line with a cause.
func (c *causeMarks) Note(t *model.Topology, g *cause.Group, text string) tea.Cmd {
	return c.change(t, "", func(s cause.States) { s.Note(g, text) })
}

// Look is how a cause is dressed: what came back is the loudest.
func (c *causeMarks) Look(id cause.ID) term.Style {
	s := c.env.Styles
	switch c.States.Of(id).State {
	case cause.Back:
		return s.Danger
	case cause.New:
		return s.Strong
	case cause.Resolved, cause.Ignored:
		return s.Muted
	}
	return s.Text
}

// Words are the state in a column: "back 04:10".
func (c *causeMarks) Words(id cause.ID) string {
	m := c.States.Of(id)
	if m.State == cause.Back {
		return "! back " + ClockOf(model.Some(m.At), c.env.Shown)
	}
	return string(m.State)
}

// Rank is the order of the states: what is back first, what is resolved or ignored last.
func (c *causeMarks) Rank(id cause.ID) int {
	switch c.States.Of(id).State {
	case cause.Back:
		return 0
	case cause.Resolved, cause.Ignored:
		return 2
	}
	return 1
}

// Sentence is the state with its time.
func (c *causeMarks) Sentence(id cause.ID, now time.Time) string {
	m := c.States.Of(id)
	ago := AgoOf(model.Some(m.At), now)
	k := c.env.Keys
	switch m.State {
	case cause.Back:
		return "back: it came again after it was resolved; seen " + ago
	case cause.Resolved:
		return "resolved " + ago + "; when it fails again, it is shown as back"
	case cause.Ignored:
		return "ignored " + ago
	case cause.Seen:
		return "seen " + ago + "; " + k.Resolve.Help().Key + " marks it as resolved"
	}
	return "new: no one has opened it"
}
