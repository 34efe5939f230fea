package causes

import (
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

// causeMessagesMost bounds how many messages of a cause are listed.
const causeMessagesMost = 10_000

// causeMessagesScreen lists the messages of a cause in all its queues, as a search for them.
type causeMessagesScreen struct {
	messages.FindScreen
	row    causeRow
	done   int                      // of the doings since the start: these are taken in
	left   []*messages.FindRow      // that actions took out
	limits func(model.QueueRef) int // of the look at each queue, when something is done with its messages
}

func newCauseMessagesScreen(e *shell.Env, r causeRow, limits func(model.QueueRef) int) shell.Screen {
	only, queues := messages.OfCause{Group: &r.Group, Words: r.text}, map[model.QueueRef]bool{}
	for _, q := range r.Queues {
		queues[q.Of] = true
	}
	search := messages.NewSearchScreen(e, "messages of a cause", find.Want{
		Has: only.Has, Queue: func(ref model.QueueRef) bool { return queues[ref] }, Hits: causeMessagesMost,
	}, messages.FindColumns(e, messages.ByID))
	search.Only = only
	return causeMessagesScreen{FindScreen: search, row: r, limits: limits, done: len(e.Doings)}
}

// Keys are those of a search, and of a cause.
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
		k, acts := s.Env.Keys, actOnCause(s.Env, s.row, s.limits, pressed)
		row, ok := s.List.Table.Current()
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
			return s, shell.Push(newCauseQueuesScreen(s.Env, s.row, s.limits))
		case term.Is(pressed, k.Resolve):
			return s, s.Env.Marks.Turn(s.Topology, &s.row.Group, cause.Resolved)
		}
	}
	next, cmd := s.FindScreen.Update(msg)
	s.FindScreen = next.(messages.FindScreen)
	return s, cmd
}

// Prepare takes out what actions took from the queues. Where it is unknown which messages these were, the queues are
// read again, unless that costs something.
func (s causeMessagesScreen) Prepare(int, int) (shell.Screen, tea.Cmd) {
	changed := false
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
		s.List.Table.Set(s.Rows)
		s.List.Table.Regain()
	}
	if !changed || s.Want.Costly || !s.Ended {
		return s, nil
	}
	next, cmd := s.Begin(true)
	s.FindScreen = next.(messages.FindScreen)
	return s, cmd
}
