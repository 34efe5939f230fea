package model_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestFlows(t *testing.T) {
	tests := map[string][]string{
		"retry-queue": {"RetryQueue: test-delay=delayed(10s, argument) " +
			"default-delay=delayed(1m, argument)"},
		"delayed":                                {"worker-queue: buffer-queue=delayed(per message, message)"},
		"delayed, queue TTL, the worker is down": {"worker-queue: buffer-queue=delayed(5s, argument)"},
		"pubsub": {"ucenter@user: ucenter@user@retry=retry(30s, argument) " +
			"ucenter@user@failed=failed"},
		"lifecycle": {"example.delay.heaven: example.delay.life=delayed(per message, message)"},
		"a worker that dead-letters into its retry buffer, policies only": {
			"orders: orders.wait=retry(10s, policy wait-10s)",
		},
		"the same, with the worker down":          {"orders: orders.wait=retry(10s, argument)"},
		"a plain worker that is down":             {"mail: mail.dlq=failed"},
		"a plain worker with a dead-letter queue": {"mail: mail.dlq=failed"},
		"a worker that is named for retries, and is down": {
			"RetryQueue: test-delay=delayed(10s, argument) FailedQueue=failed",
		},
		"a chain of buffers": {"mail: wait.1=delayed(10s, argument) " +
			"wait.2=delayed(1m, argument)"},
		"nothing that waits or fails": nil,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			parts, ok := build.ScenarioParts[name]
			must.That(t, ok, "no such topology")
			topology := build.TopologyOf("3.10.8", parts...)
			assert.NoDiff(t, cmp.Diff(want, build.Told(topology.Flows())))
			for _, f := range topology.Flows() {
				for _, m := range append([]model.Member{f.Worker}, f.Failed...) {
					assert.That(t, m.Reason != "", "%s has no reason for its role", m.Queue)
				}
				for _, b := range f.Buffers {
					assert.That(t, b.Reason != "" && len(b.Targets) > 0, "%s: reason %q, targets %v", b.Queue, b.Reason, b.Targets)
				}
			}
		})
	}
}

func TestTheFiveSystemsSideBySide(t *testing.T) {
	var parts []build.Part
	for _, name := range []string{"retry-queue", "delayed", "pubsub", "lifecycle"} {
		parts = append(parts, build.ScenarioParts[name]...)
	}
	var names []string
	for _, f := range build.TopologyOf("3.10.8", parts...).Flows() {
		names = append(names, f.Name)
	}
	want := []string{"RetryQueue", "example.delay.heaven", "ucenter@user", "worker-queue"}
	assert.NoDiff(t, cmp.Diff(want, names))
}

func TestMovesBetween(t *testing.T) {
	at := func(seconds int64, set func(*model.Queue)) *model.Snapshot {
		s := build.Broker("3.10.8", build.Queue("q", func(q *model.Queue) { set(q) }))
		s.TakenAt = time.Unix(seconds, 0)
		return s
	}
	tests := []struct {
		name          string
		before, after func(*model.Queue)
		came, went    int64
	}{
		{
			"a buffer: 10 published, depth falls by 5: 15 expired",
			func(q *model.Queue) { q.Published, q.Ready = model.Some[int64](100), model.Some[int64](20) },
			func(q *model.Queue) { q.Published, q.Ready = model.Some[int64](110), model.Some[int64](15) }, 10, 15,
		},
		{
			"a worker: nothing published, 15 acknowledged, depth as before: 15 came as dead letters",
			func(q *model.Queue) { q.Acked, q.Ready = model.Some[int64](1000), model.Some[int64](2) },
			func(q *model.Queue) { q.Acked, q.Ready = model.Some[int64](1015), model.Some[int64](2) }, 15, 15,
		},
		{
			"no statistics: only the change of depth is certain",
			func(q *model.Queue) { q.Ready = model.Some[int64](3) },
			func(q *model.Queue) { q.Ready = model.Some[int64](7) }, 4, 0,
		},
		{
			"nothing moved",
			func(q *model.Queue) { q.Published = model.Some[int64](5) },
			func(q *model.Queue) { q.Published = model.Some[int64](5) }, 0, 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := model.MovesBetween(at(0, test.before), at(2, test.after))[build.Ref("q")]
			assert.That(t, m.Came == model.Some(test.came) && m.Went == model.Some(test.went),
				"came %v, went %v", m.Came, m.Went)
		})
	}
	t.Run("a queue that was declared again has no movements", func(t *testing.T) {
		moves := model.MovesBetween(at(0, func(q *model.Queue) { q.Published = model.Some[int64](50) }),
			at(2, func(q *model.Queue) { q.Published = model.Some[int64](1) }))
		assert.That(t, len(moves) == 0, "%v", moves)
		moves = model.MovesBetween(at(0, func(q *model.Queue) {
			q.Published, q.Ready = model.Some[int64](50),
				model.Some[int64](5)
		}), at(2, func(q *model.Queue) { q.Published, q.Ready = model.Unknown[int64](), model.Some[int64](0) }))
		assert.That(t, len(moves) == 0, "its totals are gone, and still there are %v", moves)
	})
	t.Run("the first poll has none", func(t *testing.T) {
		if moves := model.MovesBetween(nil, at(2, func(*model.Queue) {})); moves != nil {
			t.Errorf("%v", moves)
		}
	})
}
