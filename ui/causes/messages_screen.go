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
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const causeMessagesMost = 10_000

// oneCause is a cause whose messages are shown, or acted on.
type oneCause struct {
	env *shell.Env
	messages.OfCause
	limits func(model.QueueRef) int // of the look at each queue
}

// open opens its messages in one queue, and does something with all of them once they were read.
func (c oneCause) open(queue model.QueueRef, wish *messages.Wish) *messages.Screen {
	var then func(*messages.Screen) tea.Cmd
	if wish != nil {
		then = wish.OnAll
	}
	return messages.NewCauseScreen(c.env, queue, c.OfCause, c.limits(queue), then)
}

// resolve returns the key that marks it as resolved.
func (c oneCause) resolve(latest *shell.TopologyMsg) term.Key {
	return term.On(press.Resolve, "mark it as resolved; again: not resolved. If it fails again, it is shown as back",
		func() tea.Cmd { return c.env.Marks.Turn(latest.Topology, c.Group, cause.Resolved) })
}

// causeMessagesScreen lists the messages of a cause in all its queues, as a search for them.
type causeMessagesScreen struct {
	*messages.FindScreen
	of   oneCause
	done int                 // how many doings since the start are taken in
	left []*messages.FindRow // rows that actions took out
}

func newCauseMessagesScreen(of oneCause) shell.Screen {
	queues := model.QueueSet{}
	for _, q := range of.Queues {
		queues[q.Of] = true
	}

	search := messages.NewSearchScreen(of.env, "messages of a cause", find.Want{
		Has: of.Has, Queue: func(ref model.QueueRef) bool { return queues[ref] }, Hits: causeMessagesMost,
	})
	search.Only = of.OfCause
	s := &causeMessagesScreen{FindScreen: search, of: of, done: of.env.Done()}
	s.Others = s.keys
	return s
}

func (s *causeMessagesScreen) keys() []term.Key {
	row, ok := s.Table.Current()
	noRow, none := "", ""
	if !ok {
		noRow = "no message is under the cursor: move it onto one first"
	}
	if s.Ended && len(s.Rows) == 0 && len(s.Missed) == 0 {
		none = "no message of this cause is in its queues any more"
	}

	one := func(b key.Binding, does string, operation plan.Operation) term.Key {
		return shell.Unless(noRow, term.On(b, does, func() tea.Cmd {
			return shell.Push(messages.NewScreenAt(s.Env, &row.Hit, s.Only, messages.OnRow(operation)))
		}))
	}

	all := messages.CauseKeys(s.Env, func(w messages.Wish) tea.Cmd {
		return shell.Push(actOnCause(s.of, w))
	})
	for i := range all {
		all[i] = shell.Unless(none, all[i])
	}

	count := " " + model.Count(len(s.Rows))

	return []term.Key{
		one(press.Replay, "replay the message under the cursor", plan.Replay),
		one(press.Drop, "drop the message under the cursor", plan.Drop),
		all[5].As("replay all" + count).Shown(none == ""),
		one(press.Move, "move the message under the cursor to a queue of choice", plan.Move),
		all[3], all[4],
		all[6].As("drop all" + count).Shown(none == ""),
		s.of.resolve(&s.Latest),
		term.On(press.Failed, "the queues of these messages", func() tea.Cmd {
			return shell.Push(newCauseQueuesScreen(s.of))
		}).As("queues"),
	}
}

// Prepare removes what actions took from the queues. If it is unknown which messages these were, the queues are read
// again, unless that has a cost.
func (s *causeMessagesScreen) Prepare(width, height int) tea.Cmd {
	changed, cmd := false, tea.Cmd(nil)
	for _, d := range s.Env.Since(&s.done) {
		if s.Request == 0 || !s.Want.Queue(d.Queue) {
			continue
		}
		changed = changed || d.Unclear
		of := func(r *messages.FindRow) message.Fingerprint {
			if r.Queue != d.Queue {
				return message.Fingerprint{}
			}
			return r.Fingerprint
		}

		gone, kept, _ := shell.Among(s.Rows, d.Gone, of)
		back, left, _ := shell.Among(append(slices.Clone(s.left), gone...), d.Came, of)
		s.Rows, s.left = append(kept, back...), left
		s.Table.Set(s.Rows)
		s.Table.Regain()
	}

	if changed && !s.Want.Costly && s.Ended {
		cmd = s.Begin(true)
	}

	return tea.Batch(cmd, s.FindScreen.Prepare(width, height))
}

// causeQueuesScreen lists the queues of one cause: an action applies to the messages of the cause in the queue at the
// cursor.
type causeQueuesScreen struct {
	shell.Listing[model.QueueRef, causeQueueRow]
	of oneCause
}

type causeQueueRow struct {
	cause.Count[model.QueueRef]
	name  string           // printable
	ready model.Opt[int64] // in the queue, by the newest poll
}

func newCauseQueuesScreen(of oneCause) shell.Screen {
	c := &causeQueuesScreen{of: of}
	c.Listing = shell.NewListing(of.env, "queues of a cause", func(r causeQueueRow) model.QueueRef { return r.Of },
		func(a, b causeQueueRow) int {
			return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.name, b.name))
		}, func(r causeQueueRow) []string { return []string{r.name} },
		func(r causeQueueRow) []any {
			return []any{r.name, r.Messages, r.ready}
		},
		term.Columns(`
			QUEUE:        30 flex 1 max 70 middle sorts
			OF THE CAUSE: 12 right most danger
			MESSAGES:      9 right most
		`))

	c.Above, c.Own = 1, c.keys
	c.Polled = func(msg shell.TopologyMsg) []causeQueueRow {
		return model.Mapped(of.Queues, func(q *cause.Count[model.QueueRef]) causeQueueRow {
			return causeQueueRow{*q, q.Of.Printable(), polls.ReadyOf(msg.Topology, q.Of)}
		})
	}
	return c
}

func (c *causeQueuesScreen) keys() []term.Key {
	r, ok := c.Table.Current()
	open := func(wish *messages.Wish) tea.Cmd { return shell.Push(c.of.open(r.Of, wish)) }

	keys := append([]term.Key{
		term.On(press.Open, "its messages that failed for this cause", func() tea.Cmd { return open(nil) }).
			As("messages"),
	}, messages.CauseKeys(c.Env, func(w messages.Wish) tea.Cmd { return open(&w) })...)

	keys = append(keys, c.of.resolve(&c.Latest))
	for i := range keys {
		keys[i] = keys[i].When(ok)
	}

	return keys
}

func (c *causeQueuesScreen) View(width, height int) string {
	words := term.Strong.Render(term.Cut(" cause: "+c.of.Words, width-1))
	return term.Block([]string{words}, width, 1) + "\n" + c.List.View(width, height-1, nil)
}
