package broker

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// ledger keeps the account of an execution while several goroutines work on it.
type ledger struct {
	sync.Mutex
	account plan.Account
	began   time.Time
	// model.Behaviour.ConvertsAMQP10
	converts bool
	journal  *writer // nil without one
}

func (l *ledger) record(outcome plan.Outcome, m *message.Message, reason string) {
	l.Lock()
	defer l.Unlock()
	l.account.Add(outcome, m, reason)
	if l.converts && (outcome == plan.Moved || outcome == plan.Dropped) && m.FromAMQP10() {
		l.account.Converted++
	}
	l.journal.settle(plan.Settled{Position: m.Position, Outcome: outcome, Reason: reason})
}

// refuse records a message that was refused before anything was written about it.
func (l *ledger) refuse(m *message.Message, reason string) {
	l.note(func(a *plan.Account) { a.Add(plan.Refused, m, reason) })
}

// doubt takes back the outcomes at these positions: it is no longer known whether the messages are still in the queue.
func (l *ledger) doubt(positions []int, reason string) {
	l.Lock()
	defer l.Unlock()
	n := len(positions)
	for _, p := range positions {
		l.journal.settle(plan.Settled{Position: p, Outcome: plan.Unsure, Reason: reason})
	}

	if l.account.Operation == plan.Drop {
		l.account.Dropped -= n
	} else {
		l.account.Moved -= n
	}

	l.account.Unknown += n
	l.arrived(n)
}

// arrived counts messages whose copies were confirmed, and whose originals are uncertain. The mutex is held.
func (l *ledger) arrived(n int) {
	if l.account.Operation != plan.Drop {
		l.account.Arrived += n
	}
}

func (l *ledger) note(change func(*plan.Account)) {
	l.Lock()
	defer l.Unlock()
	change(&l.account)
}

// stop records why the execution ends early. The first reason counts.
func (l *ledger) stop(why error) { l.note(func(a *plan.Account) { stop(a, why) }) }

// stop is ledger.stop for an account that nothing else uses.
func stop(a *plan.Account, why error) {
	if a.Stopped == "" {
		a.Stopped, a.Lost = why.Error(), isLoss(why)
	}
}

// losses are why an execution ended that goes on when its connection, or the node of a queue, is back.
var losses = []error{
	model.ErrConnectionLost, model.ErrQueueDown, model.ErrQueueSilent,
	errForgotten, errUnreached, errReturns, errUnconfirmed, errUndelivered,
}

func isLoss(err error) bool {
	var connect *trouble.Error
	if errors.As(err, &connect) {
		return connect.Kind == trouble.Unreachable || connect.Kind == trouble.NoAnswer || connect.Kind == trouble.TooSlow
	}
	return slices.ContainsFunc(losses, func(loss error) bool { return errors.Is(err, loss) })
}

// change records that the topology no longer agrees with the plan.
func (l *ledger) change(changes []plan.Change) {
	l.note(func(a *plan.Account) {
		if a.Changes == nil {
			a.Changes = changes
		}
	})
}

// watch records what a canary is doing, or has shown.
func (l *ledger) watch(s plan.CanaryState) { l.note(func(a *plan.Account) { a.Canary = s }) }

// rescued records what happened to messages at their delivery limit that were not acted on.
func (l *ledger) rescued(r peek.Rescued) {
	l.note(func(a *plan.Account) { a.Rescued = a.Rescued.With(r) })
}

// wait records why nothing moves, "" when it does again.
func (l *ledger) wait(why string) { l.note(func(a *plan.Account) { a.Waiting = why }) }

// waitFor records who has the turn at a queue; nil ends the wait.
func (l *ledger) waitFor(other *model.InUse) {
	why := ""
	if other != nil {
		why = other.Words()
	}
	l.wait(why)
}

// done returns how many messages were taken out of their queue.
func (l *ledger) done() (n int) {
	l.note(func(a *plan.Account) { n = a.Moved + a.Dropped })
	return n
}

func (l *ledger) copy() plan.Account {
	l.Lock()
	defer l.Unlock()
	account := l.account
	account.Problems = slices.Clip(account.Problems) // it is only appended to
	account.Elapsed = time.Since(l.began)
	return account
}
