package shell

import (
	"context"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeMarks are people's marks on causes: seen, resolved, ignored, and notes. The file is read with each look and
// changed by commands; the copy here is only changed in Update.
type causeMarks struct {
	env    *Env
	file   Preferences
	States cause.States
	newest Request // of the answers taken over: an older one may have read the file before a change
	failed string  // why the file cannot be used; "" when it can
}

// MarkedMsg brings the states after a change; also with the answer of a look.
type MarkedMsg struct {
	request Request
	States  cause.States
	back    []*cause.Group // that are back since they were read last
	aside   string         // where a damaged file was set aside; "" otherwise
	words   string         // what was done, for a notice; "" when it is obvious
	err     error
}

func NewCauseMarks(e *Env, file Preferences) *causeMarks {
	if file == nil {
		file = &MarksInMemory{}
	}
	return &causeMarks{env: e, file: file, States: cause.States{}}
}

// MarksInMemory keep the file in memory: without a journal nothing is stored.
type MarksInMemory struct {
	mu   sync.Mutex
	text []byte
}

func (p *MarksInMemory) Load() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text, nil
}

func (p *MarksInMemory) Change(how func([]byte) ([]byte, error)) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := how(p.text)
	if err == nil {
		p.text = text
	}
	return "", err
}

// Read reads the states of a broker, and records which causes have come back, by what was just read of them. It runs
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

	var back []*cause.Group
	for g := range model.Each(list) {
		if msg.States.Now(g, now).State != msg.States.Of(g.ID).State {
			back = append(back, g)
		}
	}

	if len(back) == 0 {
		return msg
	}

	marked := []*cause.Group{}
	msg = c.written(id, broker, func(s cause.States) {
		for _, g := range back {
			if s.Of(g.ID).State == cause.Resolved {
				s.Mark(g, cause.Back, now)
				marked = append(marked, g)
			}
		}
	})
	msg.back = marked
	return msg
}

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

// change changes the file. words say what was done.
func (c *causeMarks) change(t *model.Topology, words string, how func(cause.States)) tea.Cmd {
	id := c.env.NewRequest()
	broker := t.Snapshot.Overview.ClusterName
	return c.env.Command(KeepingTime, func(context.Context) tea.Msg {
		msg := c.written(id, broker, how)
		msg.words = words
		return msg
	})
}

// Take takes over an answer, and returns a notice if there is one.
func (c *causeMarks) Take(msg MarkedMsg) tea.Cmd {
	before := c.failed
	switch {
	case msg.err != nil:
		if c.failed = msg.err.Error(); c.failed != before {
			return Notice("the states of causes cannot be used: "+c.failed, true)
		}
		return nil
	case msg.request > c.newest:
		c.newest = msg.request
		c.States = msg.States
		c.failed = ""
	}

	for _, g := range msg.back {
		queue := g.Queues[0].Of
		c.env.Tell("cause back", queue, model.Sayf("in %s: %s", queue, g.Cause))
	}

	if msg.aside != "" {
		return Notice("the states of causes were damaged: they begin again, and the old file is "+msg.aside, true)
	}
	if msg.words != "" {
		return Notice(msg.words, false)
	}

	return nil
}

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

// Turn sets a cause's state, or resets it to seen if it has that state already.
func (c *causeMarks) Turn(t *model.Topology, g *cause.Group, state cause.State) tea.Cmd {
	if c.States.Of(g.ID).State == state {
		state = cause.Seen
	}
	now := c.env.Now()
	return c.change(t, shownStates[state].marked, func(s cause.States) { s.Mark(g, state, now) })
}

func (c *causeMarks) Note(t *model.Topology, g *cause.Group, text string) tea.Cmd {
	return c.change(t, "", func(s cause.States) { s.Note(g, text) })
}

// shownStates are the states with their rank, the notice when a key sets them, and a sentence for a state that began
// some time ago.
var shownStates = map[cause.State]struct {
	rank            int
	marked, written string
}{
	cause.Back: {0, "", "back: it came again after it was resolved; seen {ago}"},
	cause.New:  {1, "", "new: no one has opened it"},
	cause.Seen: {1, "marked as seen", "seen {ago}; {key} marks it as resolved"},
	cause.Resolved: {
		2, "marked as resolved: when it fails again, it is shown as back",
		"resolved {ago}; when it fails again, it is shown as back",
	},
	cause.Ignored: {2, "marked as ignored", "ignored {ago}"},
}

// Look returns the style of a cause: what came back is the most prominent.
func (c *causeMarks) Look(id cause.ID) term.Style {
	state := c.States.Of(id).State
	switch {
	case state == cause.New:
		return term.Strong
	case state == cause.Back:
		return term.Danger
	case shownStates[state].rank == 2:
		return term.Muted
	}

	return term.Text
}

// Words returns the state in a column: "back 04:10".
func (c *causeMarks) Words(id cause.ID) string {
	m := c.States.Of(id)
	if m.State == cause.Back {
		return "! back " + ClockOf(model.Some(m.At), c.env.Shown)
	}
	return string(m.State)
}

func (c *causeMarks) Rank(id cause.ID) int { return shownStates[c.States.Of(id).State].rank }

func (c *causeMarks) Sentence(id cause.ID, now time.Time) string {
	m := c.States.Of(id)
	ago := AgoOf(model.Some(m.At), now)
	key := press.Resolve.Help().Key
	return strings.NewReplacer("{ago}", ago, "{key}", key).Replace(shownStates[m.State].written)
}
