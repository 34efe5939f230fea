package ui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/trouble"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/shell"
)

const (
	mostFresh = 32 // queues that are counted because the statistics do not have them yet

	defaultInterval = 2 * time.Second
	slowestPoll     = 15 * time.Second // the longest pause for a slow broker: what is shown must not be older
	pollShare       = 20               // otherwise a poll takes at most a twentieth of the time
	retryFirst      = time.Second
	retryMost       = 10 * time.Second
)

// poller reads the broker repeatedly: the next poll starts when the last has ended and the interval has passed, so that
// a slow broker is not asked faster than it answers. An error is kept as its state until the next success.
type poller struct {
	*shell.Env
	looks *shell.DueTimes
	pause time.Duration // the current one: longer for a slow broker

	asking
	next   time.Time
	wanted time.Time // a poll is wanted by then: see soon
	paused bool

	last   polls.Poll    // the last success
	readAt time.Time     // when that was current: when it was requested, at the latest
	took   time.Duration // by that poll
	lostAt time.Time     // when the first of consecutive errors occurred
}

// asking is a question that is asked repeatedly.
type asking struct {
	inFlight shell.Request // 0: it is answered
	timer    shell.Request // the wait before it is asked again; 0: none
	err      error         // of the last answer
	failures int           // consecutive ones
}

// answered handles the end of an answer. It returns the pause before the next question: after an error a short one.
func (q *asking) answered(err error, pause time.Duration) time.Duration {
	q.inFlight, q.err = 0, err
	if err == nil {
		q.failures = 0
		return pause
	}
	q.failures++
	return min(retryFirst<<min(q.failures-1, 4), retryMost)
}

// polledMsg is the answer to a poll, with everything worked out.
type polledMsg struct {
	request  shell.Request
	took     time.Duration
	poll     polls.Poll
	topology shell.TopologyMsg
	err      error
}

type pollDueMsg struct{ timer shell.Request } // says that the wait before a poll is over

// read starts a poll, unless one is running.
func (p *poller) read() tea.Cmd {
	if p.inFlight != 0 {
		return nil
	}
	p.inFlight, p.timer = p.NewRequest(), 0
	asked, broker := *p, p.Quiet // it knows what is held and looked at, and confirms late statistics; nil: they stand
	seen := p.looks.Seen

	return p.Command(shell.PollTimeout, func(ctx context.Context) tea.Msg {
		began := time.Now() // the real time: its duration does not depend on the screen's clock
		snapshot, err := asked.Source.Snapshot(ctx)
		if err != nil {
			return polledMsg{request: asked.inFlight, err: err}
		}
		if seen.Any() {
			snapshot.Seen = seen
		}
		if broker != nil {
			snapshot.Remember(broker.Looked(ctx, snapshot.Overview.ClusterName))
			if broker.Several() {
				snapshot.Overview.AMQP = broker.Node()
			}
		}

		var own model.QueueSet
		if before := asked.last.Topology; before != nil {
			if broker != nil {
				own = broker.Held(snapshot.TakenAt.Add(-model.LateStatistics))
			}
			snapshot.LeaveOut(own, before.Snapshot)
		}

		poll := asked.last.Next(snapshot, func(t *model.Topology) *model.Topology {
			if broker == nil {
				return t
			}
			fresh, _ := t.CountableOf(t.WithoutStatistics())
			unsure := append(findings.Unconfirmed(t), fresh[:min(len(fresh), mostFresh)]...)
			return t.Confirmed(shell.Counted(ctx, broker, unsure), false)
		})
		asked.Peeks.AddStored(poll.Topology) // what others have read

		return polledMsg{
			request: asked.inFlight,
			poll:    poll,
			took:    time.Since(began),
			topology: shell.TopologyMsg{
				Held:     own,
				Topology: poll.Topology,
				Moves:    poll.Recent.Moves(),
				Flows:    poll.Topology.Flows(),
				Findings: poll.Findings,
				About:    findings.NewAbout(poll.Findings),
			},
		}
	})
}

// answered applies the answer to the poll in flight and reports whether it brought data. Then comes the wait for the
// next one.
func (p *poller) answered(msg polledMsg) (ok bool, wait tea.Cmd) {
	if msg.request != p.inFlight {
		return false, nil
	}
	now := p.Now()
	if msg.err != nil && p.err == nil {
		p.lostAt = now
	}

	// the pause itself, so that it is never shorter than the interval
	p.pause = shell.Pace{Least: p.Interval, Most: slowestPoll, Share: pollShare - 1}.Every(msg.took)
	pause := p.asking.answered(msg.err, p.pause)
	if msg.err == nil {
		p.last = msg.poll
		p.took = msg.took
		p.readAt = now.Add(-msg.took.Truncate(time.Second))
	}

	return msg.err == nil, p.wait(pause)
}

// lost handles the loss of an AMQP connection: what is shown may be old, and the broker is polled at once. A poll in
// flight does not count: it may have been answered before.
func (p *poller) lost(why error) tea.Cmd {
	if p.err == nil {
		p.lostAt = p.Now()
	}

	p.err, p.inFlight = why, 0
	if p.paused {
		return nil
	}

	return p.read()
}

// wait starts the timer for the next poll, unless polling is paused.
func (p *poller) wait(pause time.Duration) tea.Cmd {
	if p.paused {
		return nil
	}
	now := p.Now()
	if p.wanted.After(now) {
		pause = min(pause, p.wanted.Sub(now))
	}

	p.timer, p.next = p.NewRequest(), now.Add(pause)
	id := p.timer
	return tea.Tick(pause, func(time.Time) tea.Msg { return pollDueMsg{id} })
}

// soon brings the next poll forward to when statistics include what was just done: on a broker that is slow, replayed
// messages would otherwise be shown at their old place for longer.
func (p *poller) soon() tea.Cmd {
	now := p.Now()
	p.wanted = now.Add(model.LateStatistics)
	if p.timer == 0 || !p.next.After(p.wanted) {
		return nil // one is in flight, and its wait will be shorter, or the next comes in time
	}
	return p.wait(p.next.Sub(now))
}

// toggle pauses polling after the poll in flight, or resumes it at once.
func (p *poller) toggle() tea.Cmd {
	p.paused = !p.paused
	p.timer = 0
	if p.paused {
		return nil
	}
	return p.read()
}

// trouble returns the error of the last poll as cause and next step; "" without one.
func (p *poller) trouble() (cause, next string) {
	if p.err == nil {
		return "", ""
	}
	var connect *trouble.Error
	switch {
	case errors.As(p.err, &connect):
	case errors.Is(p.err, context.DeadlineExceeded):
		connect = trouble.PollLate.With(trouble.Values{Detail: shell.PollTimeout.String()})
	default:
		connect = trouble.PollFailed.With(trouble.Values{Detail: p.err.Error()})
	}

	return connect.Cause, connect.Next
}

// watching is a screen whose queues are counted while it is visible.
type watching interface {
	// Watched are the queues to count: by a passive declare, and by totals.
	Watched() (declare, totals []model.QueueRef)
}

type countDueMsg struct{ timer shell.Request } // says that the wait before a count is over

// paces are those of the counters, which count the queues on a screen repeatedly, as long as it is visible. An error
// slows them down, and is shown in words: the numbers then come from the polls.
var paces = [...]shell.Pace{shell.DeclarePace, shell.TotalsPace}

// count counts queues by a passive declare of each, in the first lane, or by totals.
func (q *asking) count(e *shell.Env, lane int, queues []model.QueueRef) tea.Cmd {
	id := e.NewRequest()
	q.inFlight = id

	return e.Command(shell.CountTimeout, func(ctx context.Context) tea.Msg {
		began, at := time.Now(), e.Now()
		var counts model.CountsByQueue
		var err error
		if lane == 0 {
			counts, err = e.Quiet.Count(ctx, queues)
		} else {
			counts, err = e.Source.Counts(ctx)
		}
		msg := shell.CountedMsg{Request: id, Lane: lane, Took: time.Since(began), Err: err}
		msg.Counts = model.Counts{At: at, Took: msg.Took, Queues: make(model.CountsByQueue, len(queues))}
		for _, ref := range queues {
			if q, ok := counts[ref]; ok {
				msg.Counts.Queues[ref] = q
			}
		}

		return msg
	})
}

// count starts the wanted counts that are neither running nor waited for.
func (a *app) count() tea.Cmd {
	if a.poller.paused || a.latest.Topology == nil {
		return nil
	}
	var queues [2][]model.QueueRef
	if screen, ok := a.top().(watching); ok {
		queues[0], queues[1] = screen.Watched()
	}

	more, others := a.latest.Topology.CountableOf(append(a.Unsettled(), a.Fresh()...))
	for lane, refs := range [2][]model.QueueRef{more, others} {
		queues[lane] = append(queues[lane], slices.DeleteFunc(refs, func(ref model.QueueRef) bool {
			return slices.Contains(queues[lane], ref)
		})...)
	}

	if a.Broker == nil {
		queues[0] = nil // there are only polls and totals
	}

	var cmds []tea.Cmd
	for lane := range a.counters {
		if c := &a.counters[lane]; c.inFlight == 0 && c.timer == 0 && len(queues[lane]) > 0 {
			cmds = append(cmds, c.count(a.Env, lane, queues[lane]))
		}
	}

	return tea.Batch(cmds...)
}

// counted applies an answer, passes it to the screens of the visible tab, and waits for the next one.
func (a *app) counted(msg shell.CountedMsg) tea.Cmd {
	c := &a.counters[msg.Lane]
	if msg.Request != c.inFlight {
		return nil
	}
	msg.Every = paces[msg.Lane].Every(msg.Took)
	pause := c.answered(msg.Err, max(msg.Every-msg.Took, 0))
	msg.Changed = a.recounted(msg.Counts)
	msg.Topology = a.latest.Topology
	c.timer = a.NewRequest()
	id := c.timer
	shown := a.tabs[a.tab].send(msg)
	return tea.Batch(shown, tea.Tick(pause, func(time.Time) tea.Msg { return countDueMsg{id} }))
}

// recounted puts counts into the data of all screens, and reports whether that changes: a number shown twice must be
// the same.
func (a *app) recounted(c model.Counts) (changed bool) {
	touched := append(slices.Clone(a.counts), c)
	a.forget(c.At)
	a.counts = append(a.counts, c)
	before := a.latest.Topology

	now := a.latest.Topology.Counted(a.counts)
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

func (a *app) forget(now time.Time) {
	a.counts = slices.DeleteFunc(a.counts, func(old model.Counts) bool { return now.Sub(old.At) >= shell.CountedFor })
}

// failedIn returns how many messages all failed queues hold, as far as known.
func failedIn(latest shell.TopologyMsg) int64 {
	return polls.ReadyIn(latest.Topology, causes.FailedRefs(latest, model.QueueRef{})).Or(0)
}
