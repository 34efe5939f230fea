package messages

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// updateDialog gives a message to the dialog. When an action ends, what it took out of the queue leaves the table.
func (s Screen) updateDialog(msg tea.Msg) (shell.Screen, tea.Cmd) {
	before := s.Dialog.State
	var cmd tea.Cmd
	s.Dialog, cmd = s.Dialog.Update(msg)
	ended := before == shell.DialogEnded
	switch {
	case s.Dialog.State == shell.DialogEnded && !ended:
		s.settle()
	case s.Dialog.State == shell.DialogClosed && ended && cmd == nil:
		cmd = shell.Notice(s.Dialog.Summary()+s.remaining(), !s.Dialog.Account.Complete())
	}
	return s, cmd
}

// updateSaving gives a message to the dialog of an export.
func (s Screen) updateSaving(msg tea.Msg) (shell.Screen, tea.Cmd) {
	var cmd tea.Cmd
	s.saving, cmd = s.saving.Update(msg)
	return s, cmd
}

// Busy reports whether ctrl-c concerns an action that runs.
func (s Screen) Busy() bool { return s.Dialog.IsBusy() || s.saving.IsBusy() }

// settle takes out of the table what is no longer in the queue: what the account says, and nothing that it leaves open.
func (s *Screen) settle() {
	a := &s.Dialog.Account
	s.settled = s.env.Now()
	s.Taken += a.Moved + a.Dropped
	delete(s.env.Acting, s.Queue)
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
	if a.Unknown > 0 || a.Done() < len(s.Dialog.Rows) || told < a.Refused+a.Returned {
		s.unclear = "whether each message is still here is unknown: " + s.env.Keys.Peek.Help().Key +
			" reads the queue again"
		s.env.Did(shell.Doing{Queue: s.Queue, Unclear: true})
		s.done = len(s.env.Doings)
		return
	}
	acted, gone := make(map[shell.MessageID]bool, len(s.Dialog.Rows)), map[message.Fingerprint]int{}
	for _, r := range s.Dialog.Rows {
		if stayed[r.Id.Fingerprint] > 0 {
			stayed[r.Id.Fingerprint]--
			continue
		}
		acted[r.Id] = true
		gone[r.Id.Fingerprint]++
	}
	kept := make([]*shell.MessageRow, 0, len(s.Rows))
	for _, r := range s.Rows {
		if acted[r.Id] {
			s.left = append(s.left, r)
		} else {
			kept = append(kept, r)
		}
	}
	s.env.Did(shell.Doing{Queue: s.Queue, Gone: gone, Record: a.JournalID})
	s.done = len(s.env.Doings)
	s.Rows = kept
	s.Table.Set(kept)
	s.Table.Regain()
}

// catchUp takes in that messages came back to the queue. It is read again where that costs nothing.
func (s Screen) catchUp() (Screen, tea.Cmd) {
	changed, back := false, 0
	for _, d := range s.env.Since(&s.done) {
		if d.Queue != s.Queue || !d.Unclear || !d.At.After(s.Peeked.TakenAt) {
			continue
		}
		s.settled = d.At
		if s.Peeked.Plan.Free || !s.regain(d.Came) {
			changed, back = true, back+d.Back
		}
	}
	if !changed || s.Peeked.TakenAt.IsZero() {
		return s, nil
	}
	if s.Peeked.Plan.Free {
		next, cmd := s.look(false, false)
		return next.(Screen), cmd
	}
	came := "it was changed by an action"
	if back > 0 {
		came = model.Plural(back, "message") + " came back"
	}
	s.unclear = came + " since this was read: " + s.env.Keys.Peek.Help().Key + " reads the queue again"
	return s, nil
}

// regain lists messages again that came back, behind the others, as they are in the queue.
func (s *Screen) regain(came map[message.Fingerprint]int) bool {
	back, rest, all := shell.Among(s.left, came,
		func(r *shell.MessageRow) message.Fingerprint { return r.Id.Fingerprint })
	if !all {
		return false
	}
	s.left, s.Taken = rest, s.Taken-len(back)
	s.Rows = append(slices.Clone(s.Rows), back...)
	s.Table.Set(s.Rows)
	s.Table.Regain()
	return true
}

// Others are what else is in the queue. What came later is counted with each plan: polls are late, and would take
// messages for new that an action has just taken out.
func (s Screen) Others() act.OtherMessages {
	o := act.OtherMessages{Frozen: plan.Frozen{At: s.Peeked.TakenAt}}
	depth, known := s.Peeked.Depth.Get()
	if !known {
		return o
	}
	held := depth - int64(s.Taken)
	o.Frozen.Depth = model.Some(held)
	if now, newer := s.newerCount(); newer {
		held = min(held, now)
	}
	o.Unread = max(held-int64(len(s.Rows)), 0)
	return o
}
