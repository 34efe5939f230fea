package act

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// QueueChooser selects one queue by typing a part of its name. The cursor follows the queue's name: a poll never moves
// what enter is about to hit.
type QueueChooser struct {
	env    *shell.Env
	queues []*model.Queue // in the order of the list
	field  term.TextField
	at     string // the name under the cursor; "": the first one shown
}

func NewQueueChooser(e *shell.Env, queues []*model.Queue) QueueChooser {
	return QueueChooser{env: e, queues: queues, field: term.NewTextField("")}
}

// Polled takes in a newer list. The cursor stays on its queue.
func (c *QueueChooser) Polled(queues []*model.Queue) {
	if q, ok := c.Current(); ok {
		c.at = q.Name
	}
	c.queues = queues
}

func (c *QueueChooser) shown() []*model.Queue {
	needle := strings.ToLower(strings.TrimSpace(c.field.Text()))
	other := func(q *model.Queue) bool { return !term.ContainsFold(needle, q.Name) }
	return slices.DeleteFunc(slices.Clone(c.queues), other)
}

func (c *QueueChooser) index(shown []*model.Queue) int {
	return max(slices.IndexFunc(shown, func(q *model.Queue) bool { return q.Name == c.at }), 0)
}

func (c *QueueChooser) Current() (*model.Queue, bool) {
	shown := c.shown()
	if len(shown) == 0 {
		return nil, false
	}
	return shown[c.index(shown)], true
}

func (c *QueueChooser) move(by int) {
	if shown := c.shown(); len(shown) > 0 {
		c.at = shown[min(max(c.index(shown)+by, 0), len(shown)-1)].Name
	}
}

// Handle handles a key. chosen reports that enter selected the queue under the cursor.
func (c *QueueChooser) Handle(msg tea.KeyMsg) (chosen bool) {
	k := c.env.Keys
	switch {
	case term.Is(msg, k.Confirm):
		_, ok := c.Current()
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

func (c *QueueChooser) Keys() []key.Binding {
	k := c.env.Keys
	return []key.Binding{term.Describe(k.Confirm, "choose"), k.ChooseUp, k.ChooseDown, k.Cancel}
}

func (c *QueueChooser) View(l *shell.DialogLines, height int) {
	s := l.Styles
	l.Say("", "Type a part of the queue's name:", s.Text)
	l.Field(&c.field)
	l.Blank()
	shown := c.shown()
	if len(shown) == 0 {
		l.Say("", "no queue has that in its name", s.Warning)
	}
	room := max(height-len(l.Lines)-2, 3)
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
		name := term.CutMiddle(model.Printable(q.Name), l.Width-shell.LabelWidth-4-ansi.StringWidthWc(facts))
		l.Lines = append(l.Lines, term.Spread(strings.Repeat(" ", shell.LabelWidth)+s.Accent.Render(mark)+look.Render(name),
			s.Muted.Render(facts), l.Width))
	}
	l.Blank()
	l.Hints(shell.Hint(s, "enter", "choose") + shell.Hint(s, "↑ ↓", "move") + shell.Hint(s, "esc", "back") +
		s.Muted.Render(model.Count(int64(len(shown)))+" of "+model.Count(int64(len(c.queues)))))
}
