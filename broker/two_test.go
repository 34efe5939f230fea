package broker_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"dlxtop/internal/size"
	"dlxtop/journal"
	"dlxtop/model"
	"dlxtop/model/plan"
)

// TestTwoAtOnce lets two clients with one journal act on the same queue, the second from a random moment on. Each
// message is moved or dropped by one of them.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	rounds := size.Rounds(1)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, second := range both {
			t.Run("replay and "+string(second), func(t *testing.T) {
				t.Parallel()
				met := 0 // rounds in which both did something
				for round := 0; round < rounds || met < rounds && round < 8*rounds; round++ {
					t.Run(strconv.Itoa(round), func(t *testing.T) {
						if twoAtOnce(t, kind, second) {
							met++
						}
					})
				}
				if met < rounds {
					t.Errorf("both did something in %d of %d rounds", met, 8*rounds)
				}
			})
		}
	})
}

// twoAtOnce reports whether both did something.
func twoAtOnce(t *testing.T, kind model.QueueType, second plan.Operation) bool {
	n := size.Of(3000, 5000)
	one := newStage(t, node, plan.Replay, kind, n)
	one.patience = patience       // nothing is struck here: a broker that stands still is to go on
	moment := one.moment(t) / 256 // before the first has taken all pages
	begins := make(chan struct{})
	one.cable.struck.Store(&strike{at: moment, do: func() { close(begins) }})
	two := *one
	two.operation, two.cable, two.under = second, &cable{random: one.random}, &underWay{}
	var running sync.WaitGroup
	running.Go(func() { one.run(t) })
	running.Go(func() {
		<-begins
		two.run(t)
	})
	running.Wait()
	for _, s := range []*stage{one, &two} {
		if a := s.account; s.err != nil || a.Stopped != "" || a.Refused+a.Returned+a.Unknown > 0 {
			t.Errorf("%v %+v", s.err, a)
		}
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
	t.Logf("the second began after %d bytes: %d moved, then %d moved and %d dropped", moment, one.account.Moved,
		two.account.Moved, two.account.Dropped)
	return one.account.Moved > 0 && two.account.Moved+two.account.Dropped > 0
}

// outcomes are what the records of a journal say of each message.
func outcomes(t *testing.T, path string) map[string][]plan.Outcome {
	t.Helper()
	j := journal.New(journal.Options{Path: path})
	defer j.Close()
	records, err := j.Records(t.Context(), 0)
	if err != nil || len(records) != 2 {
		t.Fatal(err, len(records))
	}
	found := map[string][]plan.Outcome{}
	for _, r := range records {
		if err := j.Entries(t.Context(), r.ID, func(e *plan.Entry) error {
			if e.Outcome == "" {
				return fmt.Errorf("%s has no outcome", e.MessageID)
			}
			found[e.MessageID] = append(found[e.MessageID], e.Outcome)
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	return found
}
