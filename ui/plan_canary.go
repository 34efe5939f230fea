package ui

// canCanary reports whether the key of the canary does something: letters belong to the queue's name while that is
// being typed.
func (d *planDialog) canCanary() bool {
	if !d.asks() || !d.operation.Publishes() || d.env.readOnly || d.plan.Acquire.Refusal.Refused() {
		return false
	}
	if o := d.offer(); o.prompt != "" {
		return d.named(o)
	}
	return !d.plan.Refusal.Refused() || d.canary
}

// canaryWords are what the key of the canary does.
func (d *planDialog) canaryWords() string {
	if d.canary {
		return "no canary"
	}
	return "canary"
}

func (d *planDialog) canaryHint() string {
	if !d.canCanary() {
		return ""
	}
	return hint(d.env.styles, d.env.keys.Canary.Help().Key, d.canaryWords())
}

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
