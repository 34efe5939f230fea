package act

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// QueueChooser selects one queue by typing a part of its name. The cursor follows the queue's name: a poll never moves
// what enter is about to hit.
type QueueChooser struct {
	list  term.Table[string, *model.Queue]
	field term.TextField
	ChooserAnswers
}

// ChooserAnswers are what keys of a chooser do in the screen that embeds it, and the title there.
type ChooserAnswers struct {
	Choose func(*model.Queue) tea.Cmd // the queue under the cursor
	Back   func() tea.Cmd
	Title  func() string
}

func NewQueueChooser(e *shell.Env, queues []*model.Queue, on ChooserAnswers) QueueChooser {
	name := func(q *model.Queue) string { return q.Name }
	asGiven := func(_, _ *model.Queue) int { return 0 }
	cells := func(q *model.Queue) []any {
		return []any{model.Printable(q.Name), string(q.Type), q.Consumers, q.Ready}
	}

	c := QueueChooser{term.NewTable(e.Plain, name, asGiven, cells, term.Columns(`
		QUEUE: 30 flex 1 middle
		TYPE:   7 muted
		CONS:   4 right
		READY:  7 right
	`)), term.NewTextField(""), on}
	c.Polled(queues)
	return c
}

// Polled applies a newer list. The cursor stays on its queue.
func (c *QueueChooser) Polled(queues []*model.Queue) {
	c.list.Set(queues)
	if _, ok := c.Current(); !ok {
		c.list.MoveTo(0)
	}
}

func (c *QueueChooser) Current() (*model.Queue, bool) { return c.list.Current() }

func (c *QueueChooser) Keys() []term.Key {
	move := func(by int) func() { return func() { c.list.MoveTo(c.list.Index + by) } }
	return []term.Key{
		term.On(press.Confirm, "choose", func() tea.Cmd {
			if q, ok := c.Current(); ok {
				return c.Choose(q)
			}
			return nil
		}).As("choose"),
		term.On(press.ChooseUp, "up", move(-1)),
		term.On(press.ChooseDown, "down", move(1)),
		term.On(press.Cancel, "back", c.Back),
	}
}

// Press handles a key: one of these, or a part of a name.
func (c *QueueChooser) Press(msg tea.KeyMsg) tea.Cmd {
	cmd, pressed := term.Press(c.Keys(), msg)
	if !pressed && c.field.Update(msg) {
		needle := strings.ToLower(strings.TrimSpace(c.field.Text()))
		c.list.Narrow(func(q *model.Queue) bool { return term.ContainsFold(needle, q.Name) })
		c.list.MoveTo(0)
	}

	return cmd
}

func (c *QueueChooser) View(width, height int) string {
	l := shell.NewDialogLines(width)
	l.Say("", "Type a part of the queue's name:")
	l.Field(&c.field)
	l.Blank()

	shown := len(c.list.Shown)
	if shown == 0 {
		l.Say("", "no queue has that in its name", term.Warning)
	}

	foot := shell.NewDialogLines(width)
	foot.Blank()
	foot.Hints(shell.Hint("enter", "choose") + shell.Hint("↑ ↓", "move") + shell.Hint("esc", "back") +
		term.Muted.Render(model.Sayf("%v of %v", shown, len(c.list.All))))

	if room := height - 3 - len(l.Lines) - len(foot.Lines); shown > 0 {
		l.Lines = append(l.Lines, strings.Split(c.list.View(l.Width, 1+min(max(room, 1), shown)), "\n")...)
	}

	l.Lines = append(l.Lines, foot.Lines...)
	return l.Box(c.Title())
}
