package broker_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"dlxtop/journal"
	"dlxtop/model"
)

// TestTwoAtOnce lets two clients with one journal act on the same queue, the second from a random moment on. Each message is moved or
// dropped by one of them.
func TestTwoAtOnce(t *testing.T) {
	rounds := sized(1, func(faults int) int { return faults })
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, second := range both {
			t.Run("replay and "+string(second), func(t *testing.T) {
				for round := range rounds {
					t.Run(strconv.Itoa(round), func(t *testing.T) { twoAtOnce(t, kind, second) })
				}
			})
		}
	})
}

func twoAtOnce(t *testing.T, kind model.QueueType, second model.Operation) {
	n := sized(2000, always(5000))
	one := newStage(t, node, model.Replay, kind, n)
	moment := one.moment(t) / 8 // while there is something left for the second
	two := *one
	two.operation, two.cable = second, &cable{}
	var running sync.WaitGroup
	running.Go(func() { one.run(t) })
	running.Go(func() {
		time.Sleep(moment)
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
		case done[0] == model.Moved && target[id] != 1, done[0] == model.Dropped && target[id] != 0:
			t.Errorf("%s was %s, and is %d times in the target", id, done[0], target[id])
		}
	}
	t.Logf("the second began after %s: %d moved, then %d moved and %d dropped", moment, one.account.Moved, two.account.Moved, two.account.Dropped)
}

// outcomes are what the records of a journal say of each message.
func outcomes(t *testing.T, path string) map[string][]model.Outcome {
	t.Helper()
	j := journal.New(journal.Options{Path: path})
	defer j.Close()
	records, err := j.Records(t.Context(), 0)
	if err != nil || len(records) != 2 {
		t.Fatal(err, len(records))
	}
	found := map[string][]model.Outcome{}
	for _, r := range records {
		if err := j.Entries(t.Context(), r.ID, func(e *model.Entry) error {
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
