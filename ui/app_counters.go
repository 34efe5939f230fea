package ui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// count starts the counts that are wanted now and are not under way or waited for.
func (a *app) count() tea.Cmd {
	if a.poller.paused || a.latest.Topology == nil {
		return nil
	}
	var queues [2][]model.QueueRef
	if screen, ok := a.top().(watching); ok {
		queues[0], queues[1] = screen.Watched()
	}
	more, others := a.latest.Topology.CountableOf(a.env.Unsettled())
	for lane, refs := range [2][]model.QueueRef{more, others} {
		queues[lane] = append(queues[lane], slices.DeleteFunc(refs, func(ref model.QueueRef) bool {
			return slices.Contains(queues[lane], ref)
		})...)
	}
	if a.env.Broker == nil {
		queues[0] = nil // there are polls and totals only
	}
	var cmds []tea.Cmd
	for lane := range a.counters {
		if c := &a.counters[lane]; c.inFlight == 0 && c.timer == 0 && len(queues[lane]) > 0 {
			cmds = append(cmds, c.read(a.env, lane, queues[lane]))
		}
	}
	return tea.Batch(cmds...)
}

// counted takes an answer, gives it to the screens of the tab that is seen, and waits for the next one.
func (a app) counted(msg shell.CountedMsg) (app, tea.Cmd) {
	c := &a.counters[msg.Lane]
	if msg.Request != c.inFlight {
		return a, nil
	}
	c.inFlight, c.err = 0, msg.Err
	c.every = c.pace.Every(msg.Took)
	pause := max(c.every-msg.Took, 0)
	if msg.Err != nil {
		c.failures++
		pause = min(retryFirst<<min(c.failures-1, 4), retryMost)
	} else {
		c.failures = 0
	}
	msg.Every = c.every
	msg.Changed = a.recounted(msg.Counts)
	msg.Topology = a.latest.Topology
	c.timer = a.env.NewRequest()
	id := c.timer
	shown := a.tabs[a.tab].send(msg)
	return a, tea.Batch(shown, tea.Tick(pause, func(time.Time) tea.Msg { return countDueMsg{id} }))
}

// recounted puts counts into what all screens show, and reports whether they change it: what is seen twice on a screen
// is one number.
func (a *app) recounted(c model.Counts) (changed bool) {
	touched := append(slices.Clone(a.counts), c)
	a.forget(c.At)
	a.counts = append(a.counts, c)
	before, now := a.latest.Topology, a.latest.Topology.Counted(a.counts)
	for _, counts := range touched {
		for ref := range counts.Queues {
			was, _ := before.Queue(ref)
			is, ok := now.Queue(ref)
			changed = changed || ok && (is.Ready != was.Ready || is.Consumers != was.Consumers)
		}
	}
	if a.latest.Topology = now; changed {
		a.latest.Failed = failedIn(a.latest)
	}
	return changed
}

// forget leaves out counts that are too old to be shown: polls are newer.
func (a *app) forget(now time.Time) {
	a.counts = slices.DeleteFunc(a.counts, func(old model.Counts) bool { return now.Sub(old.At) >= shell.CountedFor })
}

// failedIn is how many messages all failed queues hold, as far as is known.
func failedIn(latest shell.TopologyMsg) int64 {
	return shell.SumOf(causes.FailedRefs(latest, model.QueueRef{}), func(ref model.QueueRef) model.Opt[int64] {
		return shell.ReadyOf(latest.Topology, ref)
	}).Or(0)
}

// countDue ends the wait for a count: the next one starts when somebody looks.
func (a app) countDue(msg countDueMsg) app {
	for lane := range a.counters {
		if c := &a.counters[lane]; c.timer == msg.timer {
			c.timer = 0
		}
	}
	return a
}

func newCounters(o Options) [2]counter {
	declare := counter{
		pace: shell.DeclarePace,
		ask: func(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
			return o.Broker.Count(ctx, queues)
		},
	}
	totals := counter{pace: shell.TotalsPace, ask: func(ctx context.Context,
		_ []model.QueueRef,
	) (map[model.QueueRef]model.QueueCounts, error) {
		return o.Source.Counts(ctx)
	}}
	return [2]counter{declare, totals}
}

func newPoller(o Options, l *shell.Looks) poller {
	p := poller{source: o.Source, interval: o.Interval, pause: o.Interval, looks: l}
	if o.Broker != nil {
		p.held, p.looked, p.counter = o.Broker.Held, o.Broker.Looked, o.Broker
	}
	return p
}
