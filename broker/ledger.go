package broker

import (
	"slices"
	"sync"
	"time"

	"dlxtop/model"
)

// ledger keeps the account of an execution while several goroutines work on it.
type ledger struct {
	mu      sync.Mutex
	account model.Account
	began   time.Time
	journal *writer // nil: there is none
}

// record notes the outcome of one message.
func (l *ledger) record(outcome model.Outcome, m *model.Message, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Add(outcome, m, reason)
	l.journal.settle(model.Settled{Position: m.Position, Outcome: outcome, Reason: reason})
}

// refuse notes a message that was refused before anything was written down about it.
func (l *ledger) refuse(m *model.Message, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Add(model.Refused, m, reason)
}

// doubt takes the outcomes at these positions back: it is not known any more whether these messages are still in the queue.
func (l *ledger) doubt(positions []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(positions)
	for _, p := range positions {
		l.journal.settle(model.Settled{Position: p, Outcome: model.Unsure})
	}
	if l.account.Operation == model.Drop {
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

// stop notes why the execution ends early. The first reason counts.
func (l *ledger) stop(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.account.Stopped == "" {
		l.account.Stopped = why
	}
}

// watch notes what a canary is doing, or has shown, and whether it waits.
func (l *ledger) watch(words string, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.Canary, l.account.Watching = words, waits
}

// cameBack notes how many a canary has found in their queue again.
func (l *ledger) cameBack(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account.CameBack = n
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
func (l *ledger) copy() model.Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	account := l.account
	account.Problems = slices.Clip(account.Problems) // only ever appended to
	account.Elapsed = time.Since(l.began)
	return account
}
