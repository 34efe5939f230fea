package ui

import (
	"cmp"
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// acting is a plan, the id of its message when that is one, and what is beside its messages.
type acting struct {
	plan    plan.Plan
	one     string
	arrived model.Opt[int64] // messages that came into the queue since it was read
}

// replan starts making the plan. It looks at every chosen message, so it is made outside Update.
func (d *planDialog) replan() tea.Cmd { return planning(&d.dialog, d.topology, d.planner()) }

// check makes the plan again when it was agreed to.
func (d *planDialog) check() tea.Cmd { return checking(&d.dialog, d.planner()) }

// planner makes the plan that is wanted now from a topology.
func (d *planDialog) planner() func(context.Context, *model.Topology) (acting, error) {
	rows, user, counter := d.rows, d.env.broker.User(), ports.Counter(d.env.broker)
	want := plan.ActionWant{
		Operation: d.operation, From: d.queue, Planned: len(rows), User: user, Insist: d.insist, Mark: true,
		Journaled: d.env.journal != nil, KeepTries: d.tries, Mend: d.mend,
		Doubles: d.doubles,
	}
	if d.edit != nil && !d.edit.was.Same(&d.edit.is) {
		edited := d.edit.is
		want.Edited = &edited
	}
	if d.operation.Publishes() {
		want.Over = spreads[d.over]
	}
	if d.canary {
		want.Canary = plan.DefaultCanaryWait
	}
	if len(d.modes) > 0 {
		want.Mode, want.Fixed = d.modes[d.mode].mode, d.modes[d.mode].fixed
	}
	if d.operation == plan.Move {
		want.Mode, want.Fixed = plan.ToQueue, model.Address{RoutingKey: d.target}
	}
	arrivals, sent := d.arrivals(), d.sentBefore(want)
	return func(ctx context.Context, t *model.Topology) (acting, error) {
		want := want
		mended := want.Mend
		want.Mend = mended.Within(ctx)
		want.Sample, want.Selection = sampleOf(rows)
		var err error
		if want.Sent, err = sent(ctx, t); err != nil {
			return acting{}, err
		}
		p := plan.New(t, want)
		if want.Counts = counted(ctx, counter, p.Limited(t)); want.Counts != nil {
			p = plan.New(t, want)
		}
		if err := ctx.Err(); err != nil {
			return acting{}, err // what was not tried would stay
		}
		p.Mend = mended
		a := acting{plan: p, arrived: arrivals(ctx, t)}
		if len(rows) == 1 {
			if m, err := rows[0].peeked.At(int(rows[0].index), 1); err == nil {
				a.one = m.Properties.MessageID
			}
		}
		return a, nil
	}
}

// sentBefore finds what was replayed before, and what will be by the plans ahead of this one.
func (d *planDialog) sentBefore(like plan.ActionWant) func(context.Context, *model.Topology) (*plan.Doubles, error) {
	ahead, journal, broker := d.ahead, d.env.journal, d.env.broker
	return func(ctx context.Context, t *model.Topology) (sent *plan.Doubles, err error) {
		if !like.SparesDoubles() {
			return nil, nil
		}
		sent = plan.NewDoubles()
		if journal != nil {
			if sent, err = journal.Replayed(ctx, broker.Address(), t.Snapshot.Overview.ClusterName); err != nil {
				return nil, err
			}
		}
		for _, first := range ahead {
			want := like
			want.From, want.Planned, want.Canary, want.Mend = first.queue, len(first.rows), 0, nil
			want.Sample, want.Selection = sampleOf(first.rows)
			sent.Expect(t, want)
		}
		return sent, nil
	}
}

// rowsOf are messages of a queue that another plan is on.
type rowsOf struct {
	queue model.QueueRef
	rows  []*messageRow
}

// planned takes a plan. One that was agreed to runs when it is what was agreed to; else it is shown with what is
// different, and asked about again.
func (d planDialog) planned(msg plannedMsg[acting]) (planDialog, tea.Cmd) {
	was, is := d.plan.Promise(), msg.plan.plan.Promise()
	d.one = cmp.Or(msg.plan.one, d.one)
	d.others.arrived = msg.plan.arrived.Or(d.others.arrived)
	switch d.state {
	case dialogPlanning:
		d.plan, d.state, d.changedAt, d.changes = msg.plan.plan, dialogAsking, time.Time{}, nil
		d.promised = nil
		d.offerTargets()
	case dialogAsking:
		d.plan = msg.plan.plan
		d.changed(was, is)
	case dialogChecking:
		d.state, d.unchecked = dialogAsking, msg.unread
		if msg.unread != nil {
			return d, nil
		}
		d.topology, d.plan = msg.topology, msg.plan.plan
		if !d.changed(was, is) {
			cmd := d.run()
			return d, cmd
		}
	}
	return d, nil
}

// sayStrays shows queues that messages may have reached although the plan did not name them, and what copies lack.
func sayStrays(l *dialogLines, a *plan.Account) {
	for i := range a.Strayed {
		l.stress("beyond", model.Printable(a.Strayed[i].Words()), l.styles.Danger)
	}
	if a.Converted > 0 {
		l.stress("lacks", plan.ConvertedWords(a.Converted), l.styles.Warning)
	}
	if a.Unguarded != "" {
		words := "whether the last of them reached a further queue is unknown: " + model.Printable(a.Unguarded)
		l.stress("unknown", words, l.styles.Warning)
	}
}
