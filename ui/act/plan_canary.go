package act

import (
	"github.com/dlxtop/dlxtop/ui/shell"
)

// Waits reports whether a canary waits for something, so that a person may not want to wait any longer.
func (d *PlanDialog) Waits() bool {
	return d.State == shell.DialogRunning && d.Plan.Canary != nil && d.Account.Canary.Waits()
}

// hurry ends the wait that is seen. What has just begun nobody can have read: an enter that is held down, or that was
// meant for something else, ends no wait.
func (d *PlanDialog) hurry() {
	if d.Env.Shown.Sub(d.waited) < shell.ChangeGuard {
		return
	}
	select {
	case d.goOn <- struct{}{}: // it holds one
	default:
	}
}
