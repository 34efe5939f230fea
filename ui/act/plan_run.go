package act

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// run starts the plan.
func (d *PlanDialog) run() tea.Cmd {
	run := d.Plan.On(d.topology)
	if run.Canary != nil {
		d.goOn = make(chan struct{}, 1)
		run.GoOn = d.goOn
	}
	d.Env.Acting[d.Queue] = true
	executor := ports.Executor(d.Env.Broker)
	begun := plan.Account{Operation: run.Operation, From: run.From, Planned: run.Planned}
	return d.Execute(begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return executor.Execute(ctx, run, progress)
	})
}
