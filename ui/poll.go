package ui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/shell"
)

const (
	defaultInterval = 2 * time.Second
	slowestPoll     = 2 * time.Minute // the pause that a slow broker is given, at most
	pollShare       = 20              // a poll takes at most a twentieth of the time
	retryFirst      = time.Second
	retryMost       = 10 * time.Second
)

// poller reads the broker again and again: the next poll starts when the last has ended and the interval has passed, so
// that a slow broker is not asked faster than it answers. An error is a state of it, kept until the next success.
type poller struct {
	source   ports.Source
	held     func(since time.Time) map[model.QueueRef]bool // nil: nothing is ever held
	counter  ports.Counter                                 // confirms what late statistics tell; nil: they stand
	looked   func(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error)
	looks    *shell.Looks
	interval time.Duration // between the end of a poll and the next one, at least
	pause    time.Duration // that is made now: longer when the broker takes long

	inFlight shell.Request // the poll that is running; 0: none
	timer    shell.Request // the wait for the next one; 0: none
	next     time.Time
	wanted   time.Time // a poll is wanted by then: see soon
	paused   bool

	last     *model.Topology // of the last success
	recent   watch.Polls
	found    findings.Memory
	readAt   time.Time     // when that was so: at the latest when it was asked for
	took     time.Duration // of that poll
	err      error         // of the last poll
	lostAt   time.Time     // when the first of the errors in a row happened
	failures int           // in a row
}

// polledMsg is the answer to a poll, with everything worked out.
type polledMsg struct {
	request  shell.Request
	took     time.Duration
	recent   watch.Polls
	found    findings.Memory
	topology shell.TopologyMsg
	err      error
}

// pollDueMsg says that the wait before a poll is over.
type pollDueMsg struct{ timer shell.Request }

// read starts a poll, unless one is running.
func (p *poller) read(e *shell.Env) tea.Cmd {
	if p.inFlight != 0 {
		return nil
	}
	p.inFlight, p.timer = e.NewRequest(), 0
	source, held, looked, id, before, recent := p.source, p.held, p.looked, p.inFlight, p.last, p.recent
	counter, seen, memory := p.counter, p.looks.Seen, p.found
	return e.Command(shell.PollTimeout, func(ctx context.Context) tea.Msg {
		began := time.Now() // the real time: how long it takes is not a matter of the clock on the screen
		snapshot, err := source.Snapshot(ctx)
		if err != nil {
			return polledMsg{request: id, err: err}
		}
		if seen.Any() {
			snapshot.Seen = seen
		}
		if looked != nil {
			snapshot.Remember(looked(ctx, snapshot.Overview.ClusterName))
		}
		var own map[model.QueueRef]bool
		if before != nil {
			if held != nil {
				own = held(snapshot.TakenAt.Add(-model.LateStatistics))
			}
			snapshot.LeaveOut(own, before.Snapshot)
		}
		topology := before.Next(snapshot)
		if counter != nil {
			topology = topology.Confirmed(shell.Counted(ctx, counter, findings.Unconfirmed(topology)), false)
		}
		if before != nil {
			recent = recent.After(model.MovesBetween(before.Snapshot, snapshot), snapshot.TakenAt.Sub(before.Snapshot.TakenAt))
		}
		moves := recent.Moves()
		found := findings.Sort(slices.Concat(findings.Of(topology), findings.LosingNow(topology, moves, recent.Span())))
		memory = memory.Mark(found, snapshot.TakenAt)
		return polledMsg{request: id, recent: recent, found: memory, took: time.Since(began), topology: shell.TopologyMsg{
			Held:     own,
			Topology: topology,
			Moves:    moves,
			Flows:    topology.Flows(),
			Findings: found,
			About:    findings.NewAbout(found),
		}}
	})
}

// answered takes the answer to the poll in flight and reports whether it brought data. Then comes the wait for the next
// one.
func (p *poller) answered(msg polledMsg, e *shell.Env) (ok bool, wait tea.Cmd) {
	if msg.request != p.inFlight {
		return false, nil
	}
	p.inFlight = 0
	now := e.Now()
	// the pause itself, so that it is never shorter than the interval
	p.pause = shell.Pace{Least: p.interval, Most: slowestPoll, Share: pollShare - 1}.Every(msg.took)
	pause := p.pause
	if msg.err != nil {
		if p.err == nil {
			p.lostAt = now
		}
		p.err = msg.err
		p.failures++
		pause = min(retryFirst<<min(p.failures-1, 4), retryMost)
	} else {
		p.err, p.failures = nil, 0
		p.last, p.recent, p.found, p.took = msg.topology.Topology, msg.recent, msg.found, msg.took
		p.readAt = now.Add(-msg.took.Truncate(time.Second))
	}
	return msg.err == nil, p.wait(pause, e)
}

// lost takes in that the connection for messages was lost: what is shown may be old, and the broker is asked at once. A
// poll under way does not count: it may have been answered before.
func (p *poller) lost(why error, e *shell.Env) tea.Cmd {
	if p.err == nil {
		p.lostAt = e.Now()
	}
	p.err, p.inFlight = why, 0
	if p.paused {
		return nil
	}
	return p.read(e)
}

// wait starts the timer for the next poll, unless polling is paused.
func (p *poller) wait(pause time.Duration, e *shell.Env) tea.Cmd {
	if p.paused {
		return nil
	}
	now := e.Now()
	if p.wanted.After(now) {
		pause = min(pause, p.wanted.Sub(now))
	}
	p.timer, p.next = e.NewRequest(), now.Add(pause)
	id := p.timer
	return tea.Tick(pause, func(time.Time) tea.Msg { return pollDueMsg{id} })
}

// soon brings the next poll forward to when statistics tell what was done just now: on a broker that is asked every two
// minutes, what was replayed would be seen where it was until then.
func (p *poller) soon(e *shell.Env) tea.Cmd {
	now := e.Now()
	p.wanted = now.Add(model.LateStatistics)
	if p.timer == 0 || !p.next.After(p.wanted) {
		return nil // one is in flight, and its wait will be shorter, or the next comes in time
	}
	return p.wait(p.next.Sub(now), e)
}

// due starts the poll whose wait is over.
func (p *poller) due(msg pollDueMsg, e *shell.Env) tea.Cmd {
	if msg.timer != p.timer || p.paused {
		return nil
	}
	return p.read(e)
}

// toggle stops the polling after the one in flight, or goes on with it at once.
func (p *poller) toggle(e *shell.Env) tea.Cmd {
	p.paused = !p.paused
	p.timer = 0
	if p.paused {
		return nil
	}
	return p.read(e)
}

// trouble is the error of the last poll as cause and next step; "" when there is none.
func (p *poller) trouble() (cause, next string) {
	if p.err == nil {
		return "", ""
	}
	var connect *model.ConnectError
	switch {
	case errors.As(p.err, &connect):
	case errors.Is(p.err, context.DeadlineExceeded):
		connect = model.PollLate.With(model.ConnectValues{Detail: shell.PollTimeout.String()})
	default:
		connect = model.PollFailed.With(model.ConnectValues{Detail: p.err.Error()})
	}
	return connect.Cause, connect.Next
}
