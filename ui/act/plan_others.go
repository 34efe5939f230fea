package act

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// OtherMessages are what the queue of an action has beside the messages that were read.
type OtherMessages struct {
	Frozen  plan.Frozen // when they were read
	Unread  int64       // that were there then, and were not read
	Arrived int64       // that came later, as far as is known
}

// arrivedMsg brings how many messages came into the queue while an action was planned and ran.
type arrivedMsg struct {
	request  shell.Request
	messages int64
}

// arrivals counts what came into the queue of an action since it was read; unknown where that cannot be told exactly
// and at once.
func (d *PlanDialog) arrivals() func(context.Context, *model.Topology) model.Opt[int64] {
	counter, queue, frozen := ports.Counter(d.Env.Broker), d.Queue, d.Others.Frozen
	return func(ctx context.Context, t *model.Topology) (arrived model.Opt[int64]) {
		if declare, _ := t.Countable(queue); !declare || !frozen.Depth.Known() {
			return arrived
		}
		counts := shell.Counted(ctx, counter, []model.QueueRef{queue})
		if ready, known := counts[queue].Ready.Get(); known && !counts[queue].Held {
			arrived = model.Some(frozen.Arrived(ready, 0))
		}
		return arrived
	}
}

// countArrived counts the queue of an action that has ended.
func (d *PlanDialog) countArrived() tea.Cmd {
	out, known := d.Account.Out().Get()
	declare, _ := d.topology.Countable(d.Queue)
	if d.Err != nil || !known || !declare {
		return nil
	}
	d.Request = d.Env.NewRequest()
	id, counter, queue, frozen := d.Request, ports.Counter(d.Env.Broker), d.Queue, d.Others.Frozen
	return d.Env.Command(shell.CountTimeout, func(ctx context.Context) tea.Msg {
		ready, known := ports.CountSettled(ctx, counter, queue).Get()
		if !known {
			return nil
		}
		return arrivedMsg{id, frozen.Arrived(ready, out)}
	})
}
