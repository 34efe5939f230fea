package plan

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// CanaryAcks decide whether the messages that a canary sent to a queue were acknowledged, by the management API's
// counts: a delivery alone proves nothing, because a worker may requeue every message for ever, or keep it (3.10.8 to
// 4.3.6).
type CanaryAcks struct {
	Queue       model.QueueRef
	Sent        int64     // in this stage
	Unacked     int64     // delivered, and neither acknowledged nor requeued
	Ready       int64     // waiting, dlxtop's own messages or others
	Redelivered int64     // since the stage began
	Taken       int64     // acknowledged since the stage began, or delivered without needing that
	EmptySince  time.Time // since then the queue was empty and redelivered nothing; zero: not so
}

// manyRedeliveries for each message, without one acknowledgement, end the wait.
const manyRedeliveries = 20

// Count takes in newer counts; before are those from before the stage.
func (a *CanaryAcks) Count(before, now *model.Queue, at time.Time) {
	redelivered := now.Redelivered.Or(0) - before.Redelivered.Or(0)
	a.Ready, a.Unacked = now.Ready.Or(0), now.Unacked.Or(0)
	a.Taken = now.Taken().Or(0) - before.Taken().Or(0)
	switch {
	case a.Ready+a.Unacked > 0 || redelivered != a.Redelivered:
		a.EmptySince = time.Time{}
	case a.EmptySince.IsZero():
		a.EmptySince = at
	}
	a.Redelivered = redelivered
}

// Passed reports whether the messages of the stage are done: as many were acknowledged as had been there and were sent,
// or the queue is empty and redelivers nothing for as long as statistics may lag.
func (a *CanaryAcks) Passed(before *model.Queue, at time.Time) bool {
	ahead := before.Ready.Or(0) + before.Unacked.Or(0)
	return a.Taken >= ahead+a.Sent || !a.EmptySince.IsZero() && at.Sub(a.EmptySince) >= model.StatisticsLag
}

// Loops reports whether the messages are requeued again and again, and none is acknowledged.
func (a *CanaryAcks) Loops() bool { return a.Taken == 0 && a.Redelivered >= manyRedeliveries*a.Sent }
