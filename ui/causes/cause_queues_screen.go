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
	env      *shell.Env
	topology *model.Topology
	only     messages.OfCause
	limits   func(model.QueueRef) int // of the look at each queue
	list     term.List[model.QueueRef, causeQueueRow]
}

type causeQueueRow struct {
	cause.Count[model.QueueRef]
	name  string           // printable
	ready model.Opt[int64] // in the queue, by the newest poll
}

func newCauseQueuesScreen(e *shell.Env, r causeRow, limits func(model.QueueRef) int) shell.Screen {
	s := e.Styles
	table := term.NewTable(e.Kit(), func(r causeQueueRow) model.QueueRef { return r.Of },
		func(a, b causeQueueRow) int {
			return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.name, b.name))
		},
		[]term.Column[causeQueueRow]{
			{
				Title: "QUEUE", Width: 30, Flex: 1, Max: 70, Middle: true,
				Cell:    func(r causeQueueRow) term.Field { return term.Field{Text: r.name, Style: s.Text} },
				Compare: func(a, b causeQueueRow) int { return cmp.Compare(a.name, b.name) },
			},
			{
				Title: "OF THE CAUSE", Width: 12, Right: true, Most: true,
				Cell: func(r causeQueueRow) term.Field {
					return term.Field{Text: model.Count(int64(r.Messages)), Style: s.Danger}
				},
				Compare: func(a, b causeQueueRow) int { return cmp.Compare(a.Messages, b.Messages) },
			},
			{
				Title: "MESSAGES", Width: 9, Right: true, Most: true,
				Cell:    func(r causeQueueRow) term.Field { return shell.NumberField(s, r.ready, s.Text) },
				Compare: func(a, b causeQueueRow) int { return shell.CompareOpt(a.ready, b.ready) },
			},
		}...)
	rows := make([]causeQueueRow, len(r.Queues))
	for i, q := range r.Queues {
		rows[i] = causeQueueRow{Count: q, name: model.Printable(q.Of.String())}
	}
	table.Set(rows)
	return causeQueuesScreen{
		env: e, only: messages.OfCause{Group: &r.Group, Words: r.text}, limits: limits,
		list: term.NewList(table, func(r causeQueueRow) []string { return []string{r.name} }),
	}
}

func (c causeQueuesScreen) Init() tea.Cmd { return nil }
func (c causeQueuesScreen) Title() string { return "queues of a cause" }
func (c causeQueuesScreen) Typing() bool  { return c.list.Filter.Typing }

// Keys are those of a list whose rows are queues.
func (c causeQueuesScreen) Keys() []key.Binding {
	if _, ok := c.list.Table.Current(); ok {
		return c.list.Bindings(append([]key.Binding{term.Describe(c.env.Keys.Open, "messages")},
			append(messages.CauseKeys(c.env.Keys), c.env.Keys.Resolve)...)...)
	}
	return c.list.Bindings()
}

func (c causeQueuesScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		c.topology = msg.Topology
		rows := append([]causeQueueRow(nil), c.list.Table.All...)
		for i := range rows {
			rows[i].ready = shell.ReadyOf(msg.Topology, rows[i].Of)
		}
		c.list.Table.Set(rows)
	case tea.KeyMsg:
		if c.list.Handle(msg) {
			return c, nil
		}
		r, ok := c.list.Table.Current()
		if !ok {
			return c, nil
		}
		if term.Is(msg, c.env.Keys.Resolve) {
			return c, c.env.Marks.Turn(c.topology, c.only.Group, cause.Resolved)
		}
		if then := messages.CauseAction(c.env.Keys, msg); then != nil || term.Is(msg, c.env.Keys.Open) {
			return c, shell.Push(messages.NewCauseScreen(c.env, r.Of, c.only, c.limits(r.Of), then))
		}
	}
	return c, nil
}

func (c causeQueuesScreen) View(width, height int) string {
	words := c.env.Styles.Strong.Render(term.Cut(" cause: "+c.only.Words, width-1, "…"))
	return term.Block([]string{words}, width, 1) + "\n" + c.list.View(width, height-1, nil)
}
