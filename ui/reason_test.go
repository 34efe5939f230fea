package ui

import (
	"context"
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestReasonIsAskedInProduction: behind the number, for one message and for a cause in several queues; every key is
// then a letter of it, what was said last is proposed, and the records get it.
func TestReasonIsAskedInProduction(t *testing.T) {
	o, b, _, c := manyFailed()
	o.Production = true
	withJournal(t, &o, c, 0)
	var mu sync.Mutex
	var reasons []string
	b.execute = func(ctx context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
		mu.Lock()
		defer mu.Unlock()
		reasons = append(reasons, plan.ReasonOf(ctx))
		return plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Dropped: p.Planned}, nil
	}
	term := onSMTP(t, o, 80, 24)
	term.press("d")
	term.await("type 64:")
	term.press("64")
	term.await("enter drop 64 messages")
	term.press(keyEnter)
	term.await("Why? The journal keeps it with your name.", "enter drop 64 messages", "esc back")
	term.press(keyEnter, "o", "c", "x", keyEsc)
	term.await("type 64:", "> 64")
	term.press(keyEnter)
	term.await("Why?")
	term.press("INC-4711 jq")
	term.await("> INC-4711 jq")
	term.press(keyEnter)
	term.await("64 messages dropped", "esc close")
	term.press(keyEsc)
	term.await("CAUSE")
	term.press("f")
	term.await("FAILED QUEUE")
	term.press("j", keyEnter)
	term.await("41 messages")
	term.press("d")
	term.await("enter drop 1 message")
	term.press(keyEnter)
	term.await("Why?", "> INC-4711 jq")
	term.press("!", keyEnter)
	term.await("What happened")
	mu.Lock()
	defer mu.Unlock()
	assert.List(t, []string{"INC-4711 jq", "INC-4711 jq", "INC-4711 jq!"}, reasons, "the reasons")
}
