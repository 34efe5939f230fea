package causes

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeQueuesScreen lists the queues of one cause: an action is for the messages of the cause in the one at the cursor.
type causeQueuesScreen struct {
	shell.Listing[model.QueueRef, causeQueueRow]
	only   messages.OfCause
	limits func(model.QueueRef) int // of the look at each queue
}

type causeQueueRow struct {
	cause.Count[model.QueueRef]
	name  string           // printable
	ready model.Opt[int64] // in the queue, by the newest poll
}

func newCauseQueuesScreen(e *shell.Env, r causeRow, limits func(model.QueueRef) int) shell.Screen {
	type column = term.Column[causeQueueRow]
	s := e.Styles
	c := causeQueuesScreen{only: messages.OfCause{Group: &r.Group, Words: r.text}, limits: limits}
	c.Listing = shell.NewListing(e, "queues of a cause", func(r causeQueueRow) model.QueueRef { return r.Of },
		func(a, b causeQueueRow) int {
			return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.name, b.name))
		}, func(r causeQueueRow) []string { return []string{r.name} },
		column{Title: "QUEUE", Width: 30, Flex: 1, Max: 70, Middle: true}.
			Name(&s.Text, func(r causeQueueRow) string { return r.name }),
		shell.Numbers(column{Title: "OF THE CAUSE", Width: 12, Right: true, Most: true}, s, &s.Danger,
			func(r causeQueueRow) model.Opt[int64] { return model.Some(int64(r.Messages)) }),
		shell.Numbers(column{Title: "MESSAGES", Width: 9, Right: true, Most: true}, s, &s.Text,
			func(r causeQueueRow) model.Opt[int64] { return r.ready }))
	rows := make([]causeQueueRow, len(r.Queues))
	for i, q := range r.Queues {
		rows[i] = causeQueueRow{Count: q, name: model.Printable(q.Of.String())}
	}
	c.Above = 1
	c.Table.Set(rows)
	return c
}

// Keys are those of a list whose rows are queues.
func (c causeQueuesScreen) Keys() []key.Binding {
	if _, ok := c.Table.Current(); ok {
		return c.Bindings(append([]key.Binding{term.Describe(c.Env.Keys.Open, "messages")},
			append(messages.CauseKeys(c.Env.Keys), c.Env.Keys.Resolve)...)...)
	}
	return c.Bindings()
}

func (c causeQueuesScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if c.Handle(msg) {
		return c, nil
	}
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		rows := append([]causeQueueRow(nil), c.Table.All...)
		for i := range rows {
			rows[i].ready = shell.ReadyOf(msg.Topology, rows[i].Of)
		}
		c.Table.Set(rows)
	case tea.KeyMsg:
		r, ok := c.Table.Current()
		if !ok {
			return c, nil
		}
		if term.Is(msg, c.Env.Keys.Resolve) {
			return c, c.Env.Marks.Turn(c.Latest.Topology, c.only.Group, cause.Resolved)
		}
		if then := messages.CauseAction(c.Env.Keys, msg); then != nil || term.Is(msg, c.Env.Keys.Open) {
			return c, shell.Push(messages.NewCauseScreen(c.Env, r.Of, c.only, c.limits(r.Of), then))
		}
	}
	return c, nil
}

func (c causeQueuesScreen) View(width, height int) string {
	words := c.Env.Styles.Strong.Render(term.Cut(" cause: "+c.only.Words, width-1, "…"))
	return term.Block([]string{words}, width, 1) + "\n" + c.List.View(width, height-1, nil)
}
