package ui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

const (
	defaultInterval = 2 * time.Second
	pollTimeout     = 15 * time.Second
	retryFirst      = time.Second
	retryMost       = 10 * time.Second
)

// poller reads the broker again and again: the next poll starts when the last has ended and the interval has passed, so that a slow
// broker is not asked faster than it answers. An error is a state of it, kept until the next success.
type poller struct {
	source   Source
	interval time.Duration

	inFlight request // the poll that is running; 0: none
	timer    request // the wait for the next one; 0: none
	next     time.Time
	paused   bool

	last     *model.Topology // of the last success
	recent   recent
	readAt   time.Time // when that arrived
	err      error     // of the last poll
	lostAt   time.Time // when the first of the errors in a row happened
	failures int       // in a row
}

// polledMsg is the answer to a poll, with everything worked out.
type polledMsg struct {
	request  request
	recent   recent
	topology topologyMsg
	err      error
}

// pollDueMsg says that the wait before a poll is over.
type pollDueMsg struct{ timer request }

// read starts a poll, unless one is running.
func (p *poller) read(e *env) tea.Cmd {
	if p.inFlight != 0 {
		return nil
	}
	p.inFlight, p.timer = e.newRequest(), 0
	source, id, before, recent := p.source, p.inFlight, p.last, p.recent
	return e.command(pollTimeout, func(ctx context.Context) tea.Msg {
		snapshot, err := source.Snapshot(ctx)
		if err != nil {
			return polledMsg{request: id, err: err}
		}
		topology := before.Next(snapshot)
		if before != nil {
			recent = recent.after(model.MovesBetween(before.Snapshot, snapshot), snapshot.TakenAt.Sub(before.Snapshot.TakenAt))
		}
		moves := recent.steady()
		return polledMsg{request: id, recent: recent, topology: topologyMsg{
			topology: topology,
			moves:    moves,
			flows:    topology.Flows(),
			findings: model.SortFindings(slices.Concat(topology.Findings(), topology.LosingNow(moves, recent.span()))),
		}}
	})
}

// answered takes the answer to the poll in flight and reports whether it brought data. Then comes the wait for the next one.
func (p *poller) answered(msg polledMsg, e *env) (ok bool, wait tea.Cmd) {
	if msg.request != p.inFlight {
		return false, nil
	}
	p.inFlight = 0
	now := e.now()
	pause := p.interval
	if msg.err != nil {
		if p.err == nil {
			p.lostAt = now
		}
		p.err = msg.err
		p.failures++
		pause = min(retryFirst<<min(p.failures-1, 4), retryMost)
	} else {
		p.err, p.failures = nil, 0
		p.last, p.recent, p.readAt = msg.topology.topology, msg.recent, now
	}
	return msg.err == nil, p.wait(pause, e)
}

// wait starts the timer for the next poll, unless polling is paused.
func (p *poller) wait(pause time.Duration, e *env) tea.Cmd {
	if p.paused {
		return nil
	}
	p.timer, p.next = e.newRequest(), e.now().Add(pause)
	id := p.timer
	return tea.Tick(pause, func(time.Time) tea.Msg { return pollDueMsg{id} })
}

// due starts the poll whose wait is over.
func (p *poller) due(msg pollDueMsg, e *env) tea.Cmd {
	if msg.timer != p.timer || p.paused {
		return nil
	}
	return p.read(e)
}

// pause stops the polling after the one in flight, or goes on with it at once.
func (p *poller) pause(e *env) tea.Cmd {
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
		return connect.Cause, connect.Next
	case errors.Is(p.err, context.DeadlineExceeded):
		return "the broker did not answer within " + pollTimeout.String(), "it is asked again by itself"
	}
	return p.err.Error(), "it is asked again by itself"
}
