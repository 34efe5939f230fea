package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

// queueChooser lets one queue be chosen by typing a part of its name. The cursor follows the queue's name: a poll moves
// nothing that enter is about to hit.
type queueChooser struct {
	env    *env
	queues []*model.Queue // in the order of the list
	field  term.TextField
	at     string // the name under the cursor; "": the first that is shown
}

func newQueueChooser(e *env, queues []*model.Queue) queueChooser {
	return queueChooser{env: e, queues: queues, field: term.NewTextField("")}
}

// polled takes a newer list. The cursor stays on its queue.
func (c *queueChooser) polled(queues []*model.Queue) {
	if q, ok := c.current(); ok {
		c.at = q.Name
	}
	c.queues = queues
}

// shown are the queues whose names hold what is typed.
func (c *queueChooser) shown() []*model.Queue {
	needle := strings.ToLower(strings.TrimSpace(c.field.Text()))
	var found []*model.Queue
	for _, q := range c.queues {
		if term.ContainsFold(needle, q.Name) {
			found = append(found, q)
		}
	}
	return found
}

// index is the place of the cursor among those that are shown.
func (c *queueChooser) index(shown []*model.Queue) int {
	for i, q := range shown {
		if q.Name == c.at {
			return i
		}
	}
	return 0
}

// current is the queue under the cursor.
func (c *queueChooser) current() (*model.Queue, bool) {
	shown := c.shown()
	if len(shown) == 0 {
		return nil, false
	}
	return shown[c.index(shown)], true
}

func (c *queueChooser) move(by int) {
	shown := c.shown()
	if len(shown) == 0 {
		return
	}
	c.at = shown[min(max(c.index(shown)+by, 0), len(shown)-1)].Name
}

// handle takes a key. chosen reports that enter chose the queue under the cursor.
func (c *queueChooser) handle(msg tea.KeyMsg) (chosen bool) {
	k := c.env.keys
	switch {
	case term.Is(msg, k.Confirm):
		_, ok := c.current()
		return ok
	case term.Is(msg, k.ChooseUp):
		c.move(-1)
	case term.Is(msg, k.ChooseDown):
		c.move(1)
	default:
		before := c.field.Text()
		c.field.Update(msg)
		if c.field.Text() != before {
			c.at = ""
		}
	}
	return false
}

func (c *queueChooser) keys() []key.Binding {
	k := c.env.keys
	return []key.Binding{term.Describe(k.Confirm, "choose"), k.ChooseUp, k.ChooseDown, k.Cancel}
}

// view draws the field and as many queues as fit into the lines.
func (c *queueChooser) view(l *dialogLines, height int) {
	s := l.styles
	l.say("", "Type a part of the queue's name:", s.Text)
	l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+s.Accent.Render("> ")+c.field.View(s, l.width-labelWidth-2))
	l.blank()
	shown := c.shown()
	if len(shown) == 0 {
		l.say("", "no queue has that in its name", s.Warning)
	}
	room := max(height-len(l.lines)-2, 3)
	at := c.index(shown)
	first := min(max(at-room/2, 0), max(len(shown)-room, 0))
	for i := first; i < min(first+room, len(shown)); i++ {
		q := shown[i]
		facts := string(q.Type) + ", " + picture.ConsumerCount(q.Consumers)
		if n, known := q.Ready.Get(); known {
			facts += ", " + model.Count(n) + " ready"
		}
		mark, look := "  ", s.Text
		if i == at {
			mark, look = term.MarkCursor+" ", s.Strong
		}
		name := term.CutMiddle(model.Printable(q.Name), l.width-labelWidth-4-ansi.StringWidthWc(facts))
		l.lines = append(l.lines, term.Spread(strings.Repeat(" ", labelWidth)+s.Accent.Render(mark)+look.Render(name),
			s.Muted.Render(facts), l.width))
	}
	l.blank()
	l.hints(hint(s, "enter", "choose") + hint(s, "↑ ↓", "move") + hint(s, "esc", "back") +
		s.Muted.Render(model.Count(int64(len(shown)))+" of "+model.Count(int64(len(c.queues)))))
}
