package ui

// waits reports whether a canary waits for something, so that a person may not want to wait any longer.
func (d *planDialog) waits() bool {
	return d.state == dialogRunning && d.plan.Canary != nil && d.account.Canary.Waits()
}

// hurry ends the wait that is seen. What has just begun nobody can have read: an enter that is held down, or that was
// meant for something else, ends no wait.
func (d *planDialog) hurry() {
	if d.env.shown.Sub(d.waited) < changeGuard {
		return
	}
	select {
	case d.goOn <- struct{}{}: // it holds one
	default:
	}
}
