package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// updateDialog gives a message to the dialog. When an action ends, what it took out of the queue leaves the table.
func (s messagesScreen) updateDialog(msg tea.Msg) (screen, tea.Cmd) {
	before := s.dialog.state
	var cmd tea.Cmd
	s.dialog, cmd = s.dialog.update(msg)
	ended := before == dialogEnded
	switch {
	case s.dialog.state == dialogEnded && !ended:
		s.settle()
	case s.dialog.state == dialogClosed && ended && cmd == nil:
		cmd = notice(s.dialog.summary()+s.remaining(), !s.dialog.account.Complete())
	}
	return s, cmd
}

// updateSaving gives a message to the dialog of an export.
func (s messagesScreen) updateSaving(msg tea.Msg) (screen, tea.Cmd) {
	var cmd tea.Cmd
	s.saving, cmd = s.saving.update(msg)
	return s, cmd
}

// Busy reports whether ctrl-c concerns an action that runs.
func (s messagesScreen) Busy() bool { return s.dialog.busy() || s.saving.busy() }

// settle takes out of the table what is no longer in the queue: what the account says, and nothing that it leaves open.
func (s *messagesScreen) settle() {
	a := &s.dialog.account
	s.settled = s.env.now()
	s.taken += a.Moved + a.Dropped
	delete(s.env.acting, s.queue)
	stayed := map[message.Fingerprint]int{}
	told := 0
	for _, p := range a.Problems {
		if p.Outcome != plan.Unsure {
			stayed[p.Fingerprint]++
			told++
		}
	}
	left := a.Moved + a.Dropped + a.Gone
	if left == 0 && a.Unknown == 0 {
		return
	}
	if a.Unknown > 0 || a.Done() < len(s.dialog.rows) || told < a.Refused+a.Returned {
		s.unclear = "whether each message is still here is unknown: " + s.env.keys.Peek.Help().Key +
			" reads the queue again"
		s.env.did(doing{queue: s.queue, unclear: true})
		s.done = len(s.env.doings)
		return
	}
	acted, gone := make(map[messageID]bool, len(s.dialog.rows)), map[message.Fingerprint]int{}
	for _, r := range s.dialog.rows {
		if stayed[r.id.fingerprint] > 0 {
			stayed[r.id.fingerprint]--
			continue
		}
		acted[r.id] = true
		gone[r.id.fingerprint]++
	}
	kept := make([]*messageRow, 0, len(s.rows))
	for _, r := range s.rows {
		if !acted[r.id] {
			kept = append(kept, r)
		}
	}
	s.env.did(doing{queue: s.queue, gone: gone})
	s.done = len(s.env.doings)
	s.rows = kept
	s.table.Set(kept)
	s.table.Regain()
}

// catchUp takes in that messages came back to the queue. It is read again where that costs nothing.
func (s messagesScreen) catchUp() (messagesScreen, tea.Cmd) {
	changed, back := false, 0
	for _, d := range s.env.since(&s.done) {
		if d.queue == s.queue && d.unclear && d.at.After(s.peeked.TakenAt) {
			changed, back, s.settled = true, back+d.back, d.at
		}
	}
	if !changed || s.peeked.TakenAt.IsZero() {
		return s, nil
	}
	if s.peeked.Plan.Free {
		next, cmd := s.look(false)
		return next.(messagesScreen), cmd
	}
	came := "it was changed by an action"
	if back > 0 {
		came = model.Plural(back, "message") + " came back"
	}
	s.unclear = came + " since this was read: " + s.env.keys.Peek.Help().Key + " reads the queue again"
	return s, nil
}

// others are what else is in the queue. What came later is counted with each plan: polls are late, and would take
// messages for new that an action has just taken out.
func (s messagesScreen) others() otherMessages {
	o := otherMessages{frozen: plan.Frozen{At: s.peeked.TakenAt}}
	depth, known := s.peeked.Depth.Get()
	if !known {
		return o
	}
	held := depth - int64(s.taken)
	o.frozen.Depth = model.Some(held)
	if now, newer := s.newerCount(); newer {
		held = min(held, now)
	}
	o.unread = max(held-int64(len(s.rows)), 0)
	return o
}
