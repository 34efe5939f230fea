package mgmt

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// A quorum queue holds rejected messages back by its arguments, and nacked ones by its policy: a look shows none of
// them, and they are still in the queue. Before 4.3 it holds none.
func TestDelayedRetriesAreReported(t *testing.T) {
	s := newStage(t)
	holds := model.BehaviourOf(model.ParseVersion(s.b.Version())).DelayedRetry
	s.declare(`
		quorum argued delivery-limit=9 x-delayed-retry-type=failed x-delayed-retry-min=60000 x-delayed-retry-max=150000
		quorum ruled x-delayed-retry-max=90000`)
	if holds {
		s.declare("policy slow ^ruled$ 0 delayed-retry-type=returned delayed-retry-min=80000")
	}

	ruled := func(snapshot *model.Snapshot) bool { return find(t, snapshot, "ruled").Policy == "slow" }
	pollUntil(t, s.poll, "the policy applies", func(snapshot *model.Snapshot) bool { return !holds || ruled(snapshot) })
	began := time.Now()
	for _, name := range []string{"argued", "ruled"} {
		s.publish(name, nil)
		s.publish(name, nil)
	}

	must.Do(t, s.take("argued").Reject(true))
	must.Do(t, s.take("ruled").Nack(false, true))
	ended := time.Now()
	snapshot := pollUntil(t, s.poll, "the statistics have it", func(snapshot *model.Snapshot) bool {
		argued, ruled := find(t, snapshot, "argued"), find(t, snapshot, "ruled")
		if holds {
			return argued.NextRetry.Known() && ruled.NextRetry.Known()
		}
		return argued.Ready.Or(0) == 2 && ruled.Ready.Or(0) == 2
	})

	topology := model.NewTopology(snapshot)
	for name, want := range map[string]struct {
		words   string
		after   time.Duration
		allowed bool // a look, which nacks
	}{
		"argued": {"1st 1m (argument), then 2m, at most 2m30s (argument)", time.Minute, true},
		"ruled":  {"1st 1m20s (policy slow), then 1m30s, at most 1m30s (argument)", 80 * time.Second, false},
	} {
		q := find(t, snapshot, name)
		retry := topology.Settings(q.QueueRef).DelayedRetry
		if !holds {
			assert.Equal(t, retry, model.RetryDelays{}, name)
			assert.Equal(t, q.Ready, model.Some[int64](2), name)
			continue
		}

		assert.Equal(t, retry.Words(), want.words, name)
		next := q.NextRetry.Or(time.Time{})
		early, late := began.Add(want.after-time.Second), ended.Add(want.after+time.Second)
		assert.That(t, next.After(early), "%s: due %s, want after %s", name, next, early)
		assert.That(t, next.Before(late), "%s: due %s, want before %s", name, next, late)
		plan := peek.OfQueue(q, topology.Settings(q.QueueRef), topology.Behaviour, peek.Want{})
		assert.Equal(t, plan.Allowed(), want.allowed, "%s: a look", name)
	}
}

// Each failure that counts adds the minimum to the delay, up to the maximum.
func TestDelaysOfRetriesGrow(t *testing.T) {
	s := newStage(t)
	if !model.BehaviourOf(model.ParseVersion(s.b.Version())).DelayedRetry {
		return
	}
	var retry model.RetryDelays
	retry.Min.Value, retry.Max.Value = 200*time.Millisecond, 500*time.Millisecond
	s.declare("quorum grows x-delayed-retry-type=all x-delayed-retry-min=200 x-delayed-retry-max=500")

	s.publish("grows", nil)
	rejected := time.Now()
	for failed := range int64(5) {
		d := s.take("grows")
		waited := time.Since(rejected)
		counted, _ := d.Headers["x-delivery-count"].(int64)
		must.Equal(t, counted, failed)
		assert.That(t, failed == 0 || waited > retry.After(failed)-20*time.Millisecond, "failure %d: %s", failed, waited)
		rejected = time.Now()
		must.Do(t, d.Reject(true))
	}
}
