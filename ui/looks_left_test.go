package ui

import (
	"errors"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// countedLooks is a broker on which each look at orders.failed uses up its delivery limit.
func countedLooks(looked map[model.QueueRef]model.Looked) (Options, *recordedBroker, *recorded) {
	c := newClock()
	b := newRecordedBroker(c)
	b.looked = looked
	s := recording(queue("orders.failed"), queue("orders"))
	s.Overview.Version = model.ParseVersion("4.0.5")
	for i := range s.Queues {
		s.Queues[i].Type, s.Queues[i].Consumers, s.Queues[i].Ready = model.Quorum, model.Some[int64](0), model.Some[int64](2)
	}
	source := &recorded{snapshot: s}
	return Options{Source: source, Broker: b, Now: c.now, Interval: 10 * time.Millisecond}, b, source
}

// TestLooksLeftBeforeALook: what earlier looks have left of a delivery limit stands on the lists of queues, before
// another one is spent.
func TestLooksLeftBeforeALook(t *testing.T) {
	o, b, _ := countedLooks(map[model.QueueRef]model.Looked{ref("orders.failed"): {Highest: 3, Limit: 20}})
	term := newTerminal(t, o, 120, 36)
	term.press("2")
	term.await("at most 20 looks left (delivery limit)")
	term.press(keyDown)
	term.await("17 looks left of 20")
	term.press("3", "f")
	term.await("LOOKS LEFT", "17 of 20")
	assert.Equal(t, b.peeked(), 0, "it looked")
}

// TestLookThatItsLimitEnds: a refusal that only the first message could tell is shown as every other one, with what was
// rescued, and nothing looks again by itself.
func TestLookThatItsLimitEnds(t *testing.T) {
	o, b, source := countedLooks(nil)
	b.err = &peek.LimitReached{Queue: ref("orders.failed"), Limit: 20}
	b.rescued = peek.Rescued{Copied: 1, JournalID: 7}
	term := onQueue(t, o, "orders.failed", 120, 36)
	term.await("not read: 0 looks left of 20",
		"i looks anyway: messages that are at their limit move to the end of the queue",
		"1 message at the delivery limit rescued: moved to the end of the queue (journal 7)")
	wantNoFurtherLook(t, term, b, source)
	b.mu.Lock()
	b.err = nil
	b.mu.Unlock()
	term.press("i")
	term.awaitThat("insisting reads it", func(string) bool { return b.peeked() == 2 })
	b.mu.Lock()
	defer b.mu.Unlock()
	plan := b.peeks[1]
	assert.That(t, plan.Agreed, "%+v", plan)
}

// TestNoLookAfterAFailedOne: a look that failed has cost as much as one that worked, and polls do not repeat it.
func TestNoLookAfterAFailedOne(t *testing.T) {
	o, b, source := countedLooks(nil)
	b.err = errors.New("the connection was lost")
	term := onQueue(t, o, "orders.failed", 120, 36)
	term.await("not read: the connection was lost")
	wantNoFurtherLook(t, term, b, source)
}

// wantNoFurtherLook lets the screen see some polls.
func wantNoFurtherLook(t *testing.T, term *terminal, b *recordedBroker, source *recorded) {
	t.Helper()
	polls := source.times()
	term.awaitThat("five polls", func(string) bool { return source.times() > polls+5 })
	assert.Equal(t, b.peeked(), 1, "it looked")
}
