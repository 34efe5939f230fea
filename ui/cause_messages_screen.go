package ui

import (
	"maps"
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeMessagesMost bounds how many messages of a cause are listed.
const causeMessagesMost = 10_000

// causeMessagesScreen lists the messages of a cause in all its queues, as a search for them.
type causeMessagesScreen struct {
	findScreen
	row    causeRow
	done   int                      // of the doings since the start: these are taken in
	limits func(model.QueueRef) int // of the look at each queue, when something is done with its messages
}

func newCauseMessagesScreen(e *env, r causeRow, limits func(model.QueueRef) int) screen {
	only, queues := ofCause{&r.Group, r.text}, map[model.QueueRef]bool{}
	for _, q := range r.Queues {
		queues[q.Of] = true
	}
	search := newSearchScreen(e, "messages of a cause", find.Want{
		Has: only.has, Queue: func(ref model.QueueRef) bool { return queues[ref] }, Hits: causeMessagesMost,
	}, findColumns(e, byID))
	search.only = only
	return causeMessagesScreen{findScreen: search, row: r, limits: limits, done: len(e.doings)}
}

// Keys are those of a search, and of a cause.
func (s causeMessagesScreen) Keys() []key.Binding {
	k := s.env.keys
	all := func(b key.Binding) key.Binding {
		return term.Describe(b, b.Help().Desc+" "+model.Count(int64(len(s.rows))))
	}
	keys := []key.Binding{k.Replay, k.Drop, all(term.Describe(k.ReplayAll, "replay all")), k.Move, k.Mend, k.Export}
	return s.bindings(append(keys, all(term.Describe(k.DropAll, "drop all")), k.Resolve,
		term.Describe(k.Failed, "queues"))...)
}

func (s causeMessagesScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	if pressed, ok := msg.(tea.KeyMsg); ok && !s.Typing() {
		k, acts := s.env.keys, actOnCause(s.env, s.row, s.limits, pressed)
		row, ok := s.list.Table.Current()
		switch one := rowAction(k, pressed); {
		case one != nil && ok:
			return s, push(newMessagesScreenAt(s.env, &row.hit, s.only, one))
		case one != nil:
			return s, notice("no message is under the cursor: move it onto one first", true)
		case acts != nil && s.ended && len(s.rows) == 0 && len(s.missed) == 0:
			return s, notice("no message of this cause is in its queues any more", true)
		case acts != nil:
			return s, push(acts)
		case term.Is(pressed, k.Failed):
			return s, push(newCauseQueuesScreen(s.env, s.row, s.limits))
		case term.Is(pressed, k.Resolve):
			return s, s.env.marks.turn(s.topology, &s.row.Group, cause.Resolved)
		}
	}
	next, cmd := s.findScreen.Update(msg)
	s.findScreen = next.(findScreen)
	return s, cmd
}

// Prepare takes out what actions took from the queues. Where it is unknown which messages these were, the queues are
// read again, unless that costs something.
func (s causeMessagesScreen) Prepare(int, int) (screen, tea.Cmd) {
	changed := false
	for _, d := range s.env.since(&s.done) {
		if s.request == 0 || !s.want.Queue(d.queue) {
			continue
		}
		changed = changed || d.unclear
		gone := maps.Clone(d.gone)
		s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r *findRow) bool {
			left := r.hit.Queue == d.queue && gone[r.hit.Fingerprint] > 0
			if left {
				gone[r.hit.Fingerprint]--
			}
			return left
		})
		s.list.Table.Set(s.rows)
		s.list.Table.Regain()
	}
	if !changed || s.want.Costly || !s.ended {
		return s, nil
	}
	next, cmd := s.begin()
	s.findScreen = next.(findScreen)
	return s, cmd
}
