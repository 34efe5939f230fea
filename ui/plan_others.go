package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// otherMessages are what the queue of an action has beside the messages that were read.
type otherMessages struct {
	frozen  plan.Frozen // when they were read
	unread  int64       // that were there then, and were not read
	arrived int64       // that came later, as far as is known
}

// arrivedMsg brings how many messages came into the queue while an action was planned and ran.
type arrivedMsg struct {
	request  request
	messages int64
}

// arrivals counts what came into the queue of an action since it was read; unknown where that cannot be told exactly
// and at once.
func (d *planDialog) arrivals() func(context.Context, *model.Topology) model.Opt[int64] {
	counter, queue, frozen := ports.Counter(d.env.broker), d.queue, d.others.frozen
	return func(ctx context.Context, t *model.Topology) (arrived model.Opt[int64]) {
		if declare, _ := t.Countable(queue); !declare || !frozen.Depth.Known() {
			return arrived
		}
		counts := counted(ctx, counter, []model.QueueRef{queue})
		if ready, known := counts[queue].Ready.Get(); known && !counts[queue].Held {
			arrived = model.Some(frozen.Arrived(ready, 0))
		}
		return arrived
	}
}

// countArrived counts the queue of an action that has ended.
func (d *planDialog) countArrived() tea.Cmd {
	out, known := d.account.Out().Get()
	declare, _ := d.topology.Countable(d.queue)
	if d.err != nil || !known || !declare {
		return nil
	}
	d.request = d.env.newRequest()
	id, counter, queue, frozen := d.request, ports.Counter(d.env.broker), d.queue, d.others.frozen
	return d.env.command(countTimeout, func(ctx context.Context) tea.Msg {
		ready, known := ports.CountSettled(ctx, counter, queue).Get()
		if !known {
			return nil
		}
		return arrivedMsg{id, frozen.Arrived(ready, out)}
	})
}
