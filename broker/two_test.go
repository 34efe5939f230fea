package broker_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestTwoAtOnce lets two clients with one journal act on the same queue. Each message is moved or dropped by one of
// them. The second begins at a random moment, when the first has most often taken all there are, and then while the
// first has some of them: there both must have done something.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	rounds := size.Rounds(1)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, second := range both {
			t.Run("replay and "+string(second), func(t *testing.T) {
				t.Parallel()
				for range rounds {
					twoAtOnce(t, kind, second, func(one *stage, begin func(), _ func() bool) {
						one.cable.struck.Store(&strike{at: one.moment(t) / 256, do: begin})
					})
					first, other := twoAtOnce(t, kind, second, func(one *stage, begin func(), busy func() bool) {
						page := 2 + one.random.IntN(2) // of three or more
						one.cable.consumes = func(n int) {
							if n != page {
								return
							}
							for begin(); !busy(); {
								time.Sleep(5 * time.Millisecond)
							}
						}
					})
					assert.That(t, first != 0 && other != 0, "the first did %d, and the second %d", first, other)
				}
			})
		}
	})
}

// twoAtOnce returns how many messages each of two clients has moved or dropped. prepare decides when the second begins;
// busy reports whether that has done something, or is at its end.
func twoAtOnce(
	t *testing.T, kind model.QueueType, second plan.Operation, prepare func(one *stage, begin func(), busy func() bool),
) (first, other int) {
	t.Helper()
	n := size.Of(3000, 5000)
	one := newStage(t, node, plan.Replay, kind, n)
	one.patience = patience // nothing is struck here: a broker that stands still is to go on
	two := *one
	two.operation, two.cable, two.under = second, &cable{random: one.random}, &underWay{}
	begins := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begins) })
	prepare(one, begin, func() bool {
		moved, _, ended := two.progress()
		return moved > 0 || ended
	})
	two.path = one.path // it has another one when the moment was not known
	var running sync.WaitGroup
	running.Go(func() {
		one.run(t)
		begin()
	})
	running.Go(func() {
		<-begins
		two.run(t)
	})
	running.Wait()
	for _, s := range []*stage{one, &two} {
		a := s.account
		assert.That(t, s.err == nil && a.Stopped == "" && a.Refused+a.Returned+a.Unknown <= 0, "%v %+v", s.err, a)
	}
	if done := one.account.Moved + two.account.Moved + two.account.Dropped; done != n {
		t.Errorf("%d of %d were moved or dropped", done, n)
	}
	one.await(one.from.QueueRef, 0)
	target, journaled := one.find(one.to.QueueRef), outcomes(t, one.path)
	for _, id := range count(n) {
		switch done := journaled[id]; {
		case len(done) != 1:
			t.Errorf("%s: %v", id, done)
		case done[0] == plan.Moved && target[id] != 1, done[0] == plan.Dropped && target[id] != 0:
			t.Errorf("%s was %s, and is %d times in the target", id, done[0], target[id])
		}
	}
	t.Logf("%d moved, then %d moved and %d dropped", one.account.Moved, two.account.Moved, two.account.Dropped)
	return one.account.Moved, two.account.Moved + two.account.Dropped
}

// outcomes are what the records of a journal say of each message.
func outcomes(t *testing.T, path string) map[string][]plan.Outcome {
	t.Helper()
	j := journal.New(journal.Options{Path: path})
	defer j.Close()
	records, err := j.Records(t.Context(), 0)
	must.That(t, err == nil && len(records) == 2, "%v %v", err, len(records))
	found := map[string][]plan.Outcome{}
	for _, r := range records {
		assert.Succeeds(t, j.Entries(t.Context(), r.ID, func(e *plan.Entry) error {
			if e.Outcome == "" {
				return fmt.Errorf("%s has no outcome", e.MessageID)
			}
			found[e.MessageID] = append(found[e.MessageID], e.Outcome)
			return nil
		}))
	}
	return found
}
