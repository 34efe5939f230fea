package causes

import (
	"cmp"
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const causeMessagesMost = 10_000

// causeMessagesScreen lists the messages of a cause in all its queues, as a search for them.
type causeMessagesScreen struct {
	messages.FindScreen
	done   int                      // how many doings since the start are taken in
	left   []*messages.FindRow      // rows that actions took out
	limits func(model.QueueRef) int // of the look at each queue, for actions on its messages
}

func newCauseMessagesScreen(e *shell.Env, only messages.OfCause, limits func(model.QueueRef) int) shell.Screen {
	queues := map[model.QueueRef]bool{}
	for _, q := range only.Queues {
		queues[q.Of] = true
	}
	search := messages.NewSearchScreen(e, "messages of a cause", find.Want{
		Has: only.Has, Queue: func(ref model.QueueRef) bool { return queues[ref] }, Hits: causeMessagesMost,
	}, messages.FindColumns(e, true))
	search.Only = only
	return causeMessagesScreen{FindScreen: search, limits: limits, done: len(e.Doings)}
}

func (s causeMessagesScreen) Keys() []key.Binding {
	k := s.Env.Keys
	all := func(b key.Binding) key.Binding {
		return term.Describe(b, b.Help().Desc+" "+model.Count(int64(len(s.Rows))))
	}
	keys := []key.Binding{k.Replay, k.Drop, all(term.Describe(k.ReplayAll, "replay all")), k.Move, k.Mend, k.Export}
	return s.Bindings(append(keys, all(term.Describe(k.DropAll, "drop all")), k.Resolve,
		term.Describe(k.Failed, "queues"))...)
}

func (s causeMessagesScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if pressed, ok := msg.(tea.KeyMsg); ok && !s.Typing() {
		k, acts := s.Env.Keys, actOnCause(s.Env, s.Only, s.limits, pressed)
		row, ok := s.Table.Current()
		switch one := messages.RowAction(k, pressed); {
		case one != nil && ok:
			return s, shell.Push(messages.NewScreenAt(s.Env, &row.Hit, s.Only, one))
		case one != nil:
			return s, shell.Notice("no message is under the cursor: move it onto one first", true)
		case acts != nil && s.Ended && len(s.Rows) == 0 && len(s.Missed) == 0:
			return s, shell.Notice("no message of this cause is in its queues any more", true)
		case acts != nil:
			return s, shell.Push(acts)
		case term.Is(pressed, k.Failed):
			return s, shell.Push(newCauseQueuesScreen(s.Env, s.Only, s.limits))
		case term.Is(pressed, k.Resolve):
			return s, s.Env.Marks.Turn(s.Latest.Topology, s.Only.Group, cause.Resolved)
		}
	}
	next, cmd := s.FindScreen.Update(msg)
	s.FindScreen = next.(messages.FindScreen)
	return s, cmd
}

// Prepare removes what actions took from the queues. If it is unknown which messages these were, the queues are read
// again, unless that has a cost.
func (s causeMessagesScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	changed, cmd := false, tea.Cmd(nil)
	for _, d := range s.Env.Since(&s.done) {
		if s.Request == 0 || !s.Want.Queue(d.Queue) {
			continue
		}
		changed = changed || d.Unclear
		of := func(r *messages.FindRow) message.Fingerprint {
			if r.Hit.Queue != d.Queue {
				return message.Fingerprint{}
			}
			return r.Hit.Fingerprint
		}
		gone, kept, _ := shell.Among(s.Rows, d.Gone, of)
		back, left, _ := shell.Among(append(slices.Clone(s.left), gone...), d.Came, of)
		s.Rows, s.left = append(kept, back...), left
		s.Table.Set(s.Rows)
		s.Table.Regain()
	}
	if changed && !s.Want.Costly && s.Ended {
		s.FindScreen, cmd = s.Begin(true)
	}
	next, _ := s.FindScreen.Prepare(width, height)
	s.FindScreen = next.(messages.FindScreen)
	return s, cmd
}

// causeQueuesScreen lists the queues of one cause: an action applies to the messages of the cause in the queue at the
// cursor.
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

func newCauseQueuesScreen(e *shell.Env, only messages.OfCause, limits func(model.QueueRef) int) shell.Screen {
	type column = term.Column[causeQueueRow]
	s := e.Styles
	c := causeQueuesScreen{only: only, limits: limits}
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
	rows := make([]causeQueueRow, len(only.Queues))
	for i, q := range only.Queues {
		rows[i] = causeQueueRow{Count: q, name: model.Printable(q.Of.String())}
	}
	c.Above = 1
	c.Table.Set(rows)
	return c
}

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
