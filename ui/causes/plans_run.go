package causes

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// runOn starts the next plan when one has ended well. One that is no longer what was agreed to is asked about again.
func (c *causePlansScreen) runOn() tea.Cmd {
	switch d := c.running(); d.State {
	case shell.DialogAsking:
		c.state = causePlansAsking
	case shell.DialogEnded:
		rest := c.ready()
		if !d.AsPlanned() || c.stopped || len(rest) == 0 {
			c.state, c.endedAt, c.env.Together = causePlansEnded, c.env.Shown, c.undoable()
			return nil
		}
		return c.start(rest[0])
	default:
		return nil
	}
	c.consent = shell.NewConsent()
	return nil
}

// start checks a plan that was agreed to, and runs it.
func (c *causePlansScreen) start(i int) tea.Cmd {
	c.at, c.state = i, causePlansRunning
	c.table.MoveTo(slices.IndexFunc(c.table.Shown, func(r causePlanRow) bool { return r.index == i }))
	return c.take(i, func(q messages.Screen) (shell.Screen, tea.Cmd) {
		cmd := q.Dialog.Check()
		return q, cmd
	})
}

// agree starts the first plan. Those behind it stay as they were agreed to, and those that were left out stay so.
func (c *causePlansScreen) agree() tea.Cmd {
	for i := range c.queues {
		c.queues[i].Dialog.Request = c.env.NewRequest() // a plan that is on its way comes too late
	}
	c.stopped = false
	return c.start(c.ready()[0])
}

// runKey stops what runs, and ends the wait of a canary. Before it runs, nothing has happened.
func (c *causePlansScreen) runKey(msg tea.KeyMsg) tea.Cmd {
	k, d := c.env.Keys, c.running()
	if d.State == shell.DialogChecking {
		if term.Is(msg, k.Cancel) || term.Is(msg, k.ForceQuit) {
			d.State, d.Request = shell.DialogAsking, c.env.NewRequest()
		}
		return nil
	}
	cmd := c.take(c.at, func(q messages.Screen) (shell.Screen, tea.Cmd) { return q.Update(msg) })
	c.stopped = c.stopped || c.running().State == shell.DialogStopping // the queue itself may be done with already
	return cmd
}

// endKey takes a key when what was agreed to has ended. An enter that was meant for the wait of a canary does not go
// on: nobody can have read yet how it ended.
func (c *causePlansScreen) endKey(msg tea.KeyMsg) tea.Cmd {
	k := c.env.Keys
	switch {
	case term.Is(msg, k.Confirm):
		switch {
		case c.env.Shown.Sub(c.endedAt) < shell.ChangeGuard:
			return nil
		case len(c.ready()) == 0:
			return shell.Pop
		}
		c.state = causePlansAsking
		return c.polled()
	case term.Is(msg, k.Resolve):
		return c.env.Marks.Turn(c.latest.Topology, c.only.Group, cause.Resolved)
	case term.Is(msg, k.Undo):
		if ids := c.undoable(); len(ids) > 0 {
			return shell.Push(act.NewUndoScreen(c.env, ids...))
		}
	}
	return nil
}

// undoable are the records of what was done, the last one first.
func (c *causePlansScreen) undoable() (ids []int64) {
	for i := range c.queues {
		if d := &c.queues[i].Dialog; d.State == shell.DialogEnded && d.CanUndo() {
			ids = append(ids, d.Account.JournalID)
		}
	}
	slices.Reverse(ids)
	return ids
}
