package broker

import (
	"slices"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// ledger keeps the account of an execution while several goroutines work on it.
type ledger struct {
	mu      sync.Mutex
	account plan.Account
	began   time.Time
	// model.Behaviour.ConvertsAMQP10
	converts bool
	journal  *writer // nil: there is none
}

// record notes the outcome of one message.
func (l *ledger) record(outcome plan.Outcome, m *message.Message, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Add(outcome, m, reason)
	if l.converts && (outcome == plan.Moved || outcome == plan.Dropped) && m.FromAMQP10() {
		l.account.Converted++
	}
	l.journal.settle(plan.Settled{Position: m.Position, Outcome: outcome, Reason: reason})
}

// refuse notes a message that was refused before anything was written down about it.
func (l *ledger) refuse(m *message.Message, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Add(plan.Refused, m, reason)
}

// doubt takes the outcomes at these positions back: it is not known any more whether these messages are still in the
// queue.
func (l *ledger) doubt(positions []int, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
}

// plan notes how many messages there are, as far as known.
func (l *ledger) plan(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Planned = n
}

// atLeast notes that there are n messages or more.
func (l *ledger) atLeast(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Planned = max(l.account.Planned, n)
}

// stop notes why the execution ends early. The first reason counts.
func (l *ledger) stop(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.account.Stopped == "" {
		l.account.Stopped = why
	}
}

// watch notes what a canary is doing, or has shown.
func (l *ledger) watch(s plan.CanaryState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Canary = s
}

// cameBack notes how many a canary has found in their queue again.
func (l *ledger) cameBack(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.CameBack = n
}

// rescued notes what became of messages at their delivery limit that were not acted on.
func (l *ledger) rescued(r peek.Rescued) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Rescued = l.account.Rescued.With(r)
}

// change notes that the topology was not as the plan had it any more.
func (l *ledger) change(changes []plan.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.account.Changes == nil {
		l.account.Changes = changes
	}
}

// stray notes whom messages may have reached beyond what the plan said.
func (l *ledger) stray(strays []plan.Stray) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Strayed = strays
}

// unguarded notes why nobody could tell whom the last messages reached.
func (l *ledger) unguarded(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Unguarded = why
}

// done is how many messages were taken out of their queue.
func (l *ledger) done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account.Moved + l.account.Dropped
}

// wait notes why nothing moves, "" when it does again.
func (l *ledger) wait(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Waiting = why
}

// copy is the account as it stands.
func (l *ledger) copy() plan.Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	account := l.account
	account.Problems = slices.Clip(account.Problems) // only ever appended to
	account.Elapsed = time.Since(l.began)
	return account
}
