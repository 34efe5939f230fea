package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// run starts the plan.
func (d *planDialog) run() tea.Cmd {
	run := d.plan.On(d.topology)
	if run.Canary != nil {
		d.goOn = make(chan struct{}, 1)
		run.GoOn = d.goOn
	}
	d.env.acting[d.queue] = true
	executor := ports.Executor(d.env.broker)
	begun := plan.Account{Operation: run.Operation, From: run.From, Planned: run.Planned}
	return d.execute(begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return executor.Execute(ctx, run, progress)
	})
}
