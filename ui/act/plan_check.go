package act

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// Acting is a plan, the id of its message if it has one, and what else is in the queue.
type Acting struct {
	plan    plan.Plan
	one     string
	arrived model.Opt[int64] // messages that came into the queue since it was read
}

// replan starts making the plan. That examines every selected message, so it runs outside Update.
func (d *QueueAction) replan() tea.Cmd { return shell.Planning(&d.Dialog, d.Topology, d.planner()) }

func (d *QueueAction) Check() tea.Cmd { return shell.Checking(&d.Dialog, d.planner()) }

func (d QueueAction) planner() func(context.Context, *model.Topology) (Acting, error) {
	rows, like := d.Rows, d.ActionWant
	like.From, like.Planned = d.Queue, len(rows)
	like.User, like.Journaled = d.Env.Broker.User(), d.Env.Journal != nil
	like.Mark, like.Insist = true, d.Insist
	if len(d.Modes) > 0 {
		like.Mode, like.Fixed = d.Modes[d.Mode].mode, d.Modes[d.Mode].fixed
	}

	return func(ctx context.Context, t *model.Topology) (a Acting, err error) {
		want := like
		want.Mend = like.Mend.Within(ctx, d.Env.JQ)
		want.Sample, want.Selection = shell.SampleOf(rows)
		if want.Sent, err = d.sentBefore(ctx, t, like); err != nil {
			return a, err
		}
		p := plan.New(t, want)
		if want.Counts = shell.Counted(ctx, d.Env.Broker, p.Counted(t)); want.Counts != nil {
			p = plan.New(t, want)
		}
		if err := ctx.Err(); err != nil {
			return a, err // messages that were not tried would stay
		}
		p.WarnOfRights(ctx, t, d.Env.Broker.MayWrite)
		p.Mend = like.Mend
		a = Acting{plan: p, arrived: d.arrivals(ctx, t)}
		if len(rows) == 1 {
			if m, err := rows[0].Peeked.At(int(rows[0].Index), 1); err == nil {
				a.one = m.Properties.MessageID
			}
		}

		return a, nil
	}
}

// sentBefore finds what was replayed earlier, and what the plans before this one will replay.
func (d *QueueAction) sentBefore(ctx context.Context, t *model.Topology, like plan.ActionWant) (*plan.Doubles, error) {
	if !like.SparesDoubles() {
		return nil, nil
	}
	sent := plan.NewDoubles()
	if d.Env.Journal != nil {
		var err error
		sent, err = d.Env.Journal.Replayed(ctx, d.Env.Broker.Address(), t.Snapshot.Overview.ClusterName)
		if err != nil {
			return nil, err
		}
	}

	for _, first := range d.Ahead {
		want := like
		want.From = first.Queue
		want.Planned = len(first.Rows)
		want.Sample, want.Selection = shell.SampleOf(first.Rows)
		sent.Expect(t, want)
	}

	return sent, nil
}

// OtherMessages are what the queue of an action has besides the messages that were read.
type OtherMessages struct {
	Frozen  plan.Frozen // when they were read
	Unread  int64       // messages there at that time that were not read
	Arrived int64       // messages that came later, as far as known
}

// arrivals counts what came into the queue of an action since it was read; unknown if that cannot be counted exactly
// and at once.
func (d *QueueAction) arrivals(ctx context.Context, t *model.Topology) (arrived model.Opt[int64]) {
	queue, frozen := d.Queue, d.Others.Frozen
	if declare, _ := t.Countable(queue); !declare || !frozen.Depth.Known() {
		return arrived
	}
	counts := shell.Counted(ctx, d.Env.Broker, []model.QueueRef{queue})
	if ready, known := counts[queue].Ready.Get(); known && !counts[queue].Held {
		arrived = model.Some(frozen.Arrived(ready, 0))
	}

	return arrived
}

// countArrived counts what came into the queue while the action was planned and ran.
func (d *QueueAction) countArrived() (cmd tea.Cmd) {
	out, known := d.Account.Out().Get()
	declare, _ := d.Topology.Countable(d.Queue)
	if d.Err != nil || !known || !declare {
		return nil
	}
	broker := d.Env.Broker
	queue := d.Queue
	frozen := d.Others.Frozen
	d.Request, cmd = shell.Ask(d.Env, shell.CountTimeout, func(ctx context.Context) (n model.Opt[int64], _ error) {
		if ready, known := peek.CountSettled(ctx, broker, queue).Get(); known {
			n = model.Some(frozen.Arrived(ready, out))
		}
		return n, nil
	})

	return cmd
}
