package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestFlows(t *testing.T) {
	for _, test := range must.Cases[struct {
		Scenario string
		Want     []string
	}](t, "testdata/flows.toml") {
		t.Run(test.Scenario, func(t *testing.T) {
			parts, ok := build.ScenarioParts[test.Scenario]
			must.That(t, ok, "no such topology")
			topology := build.TopologyOf("3.10.8", parts...)
			assert.Same(t, test.Want, build.Told(topology.Flows()))

			for _, f := range topology.Flows() {
				for _, m := range append([]model.Member{f.Worker}, f.Failed...) {
					assert.That(t, m.Reason != "", "%s has no reason for its role", m.Queue)
				}
				for _, b := range f.Buffers {
					assert.That(t, b.Reason != "", "%s: reason %q, targets %v", b.Queue, b.Reason, b.Targets)
					assert.That(t, len(b.Targets) > 0, "%s: reason %q, targets %v", b.Queue, b.Reason, b.Targets)
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
	assert.Same(t, want, names)
}

func TestMovesBetween(t *testing.T) {
	type counts map[string]int64 // of the queue q; without them, it is empty and has no statistics
	at := func(seconds int64, counted counts) *model.Snapshot {
		s := build.Broker("3.10.8", build.Queue("q", func(q *model.Queue) {
			for name, count := range map[string]*model.Opt[int64]{
				"published": &q.Published, "acked": &q.Acked, "ready": &q.Ready,
			} {
				if n, known := counted[name]; known {
					*count = build.Some(n)
				}
			}
		}))
		s.TakenAt = time.Unix(seconds, 0)
		return s
	}

	type expected struct {
		Name          string
		Before, After counts
		Came, Went    int64
		None          bool
	}
	must.Run(t, "testdata/moves_between.toml", func(t *testing.T, test expected) {
		m, moved := model.MovesBetween(at(0, test.Before), at(2, test.After))[build.Ref("q")]
		must.Equal(t, moved, !test.None)
		if moved {
			assert.Equal(t, m.Came, model.Some(test.Came))
			assert.Equal(t, m.Went, model.Some(test.Went))
		}
	})

	t.Run("the first poll has none", func(t *testing.T) {
		moves := model.MovesBetween(nil, at(2, nil))
		assert.That(t, moves == nil, "%v", moves)
	})
}

func TestShortName(t *testing.T) {
	for _, c := range []struct {
		levels []string
		want   string
	}{
		{[]string{"celery_delayed_0", "celery_delayed_1", "celery_delayed_27"}, "celery_delayed_0…27"},
		{[]string{"nsb.v2.delay-level-00", "nsb.v2.delay-level-27"}, "nsb.v2.delay-level-00…27"},
		{[]string{"level-1", "level-10"}, "level-1…10"},
		{[]string{"s", "p"}, "s…p"},
		{[]string{"ä", "ö"}, "ä…ö"},
		{[]string{"a", "ab"}, "a…b"},
	} {
		b := model.Buffer{Levels: build.Refs(c.levels...)}
		assert.Equal(t, b.ShortName(), c.want, "%v", c.levels)
		entrance, ok := b.Entrance()
		assert.That(t, ok, "%v: what comes in comes into %s", c.levels, entrance)
		assert.Equal(t, entrance.Name, c.levels[len(c.levels)-1], "%v", c.levels)
	}

	one := model.Buffer{Member: model.Member{Queue: build.Ref("wait")}}
	entrance, ok := one.Entrance()
	assert.Equal(t, one.ShortName(), "wait")
	assert.That(t, ok, "one queue: %s, %s", one.ShortName(), entrance)
	assert.Equal(t, entrance, one.Queue)
	_, ok = (&model.Buffer{InExchange: "later"}).Entrance()
	assert.That(t, !ok, "an exchange that delays has a queue")
}

// Movement between levels counts neither as entering nor as leaving the buffer.
func TestMovesOfLevels(t *testing.T) {
	rates := func(in, out, sent float64) model.Movement {
		return model.Movement{In: model.Some(in), Out: model.Some(out), New: model.Some(sent)}
	}
	refs := build.Refs("l0", "l1", "l2")

	levels := &model.Buffer{Member: model.Member{Queue: refs[0]}, Levels: refs}
	type expected struct {
		Name  string
		Moves [][3]float64 // of each level: in, out and new
		Want  []float64    // in and out; empty: unknown
	}

	for _, c := range must.Cases[expected](t, "testdata/moves_of_levels.toml") {
		moves := model.Moves{}
		for i, m := range c.Moves {
			moves[refs[i]] = rates(m[0], m[1], m[2])
		}

		var want model.Movement
		if len(c.Want) > 0 {
			want.In, want.Out = model.Some(c.Want[0]), model.Some(c.Want[1])
		}

		got := moves.Of(levels)
		assert.Equal(t, got.In, want.In, "%v", c.Name)
		assert.Equal(t, got.Out, want.Out, "%v", c.Name)
	}

	one := model.Moves{refs[0]: rates(3, 2, 1)}
	assert.Equal(t, one.Of(&model.Buffer{Member: model.Member{Queue: refs[0]}}), rates(3, 2, 1), "of one queue")
}

// Where publishers come in, and whether failures can be distinguished from what they send.
func TestEntrances(t *testing.T) {
	for _, test := range []struct {
		name   string
		parts  []build.Part
		direct string // exchange and key of each
		fed    bool
		reject bool // the first buffer gets what the worker rejects
	}{
		{"rejects come back to the exchange that publishers use", build.EntryRetryParts, "billing invoice.#", false, true},
		{
			"rejects come back by another exchange",
			with(build.EntryRetryParts, build.Text(`
				exchange direct orders
				bind orders new invoice
			`)),
			"orders new", false, true,
		},
		{
			"rejects come back by the default exchange, which has no bindings",
			build.ScenarioParts["a worker that dead-letters into its retry buffer, policies only"], "", false, true,
		},

		{
			"the worker sends failures to the buffer that publishers use, too",
			parts(
				build.Text(`
					exchange direct out
					exchange direct back
					queue w.retry dlx=back key=w ttl=1000
					bind out w w.retry
					queue w consumers=1
					bind back w w
				`),
			),
			"", true, false,
		},
		{"publishers fill a delayed buffer", build.ScenarioParts["delayed"], "", false, false},
		{
			"they use the exchange itself, the retries a key of their own", build.ScenarioParts["pubsub"], "master user.*",
			false, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			flow := &topology.Flows()[0]

			var direct []string
			for _, b := range topology.DirectBindings(flow) {
				direct = append(direct, b.Source+" "+b.RoutingKey)
			}

			assert.Equal(t, strings.Join(direct, "; "), test.direct)
			assert.Equal(t, topology.FedThroughRetries(flow), test.fed, "fed through retry buffers")
			if got := flow.Buffers[0].Rejected; got != test.reject {
				t.Errorf("%s gets rejected messages is %v: %s", flow.Buffers[0].Name(), got, flow.Buffers[0].Reason)
			}

			assert.That(t, !test.reject || flow.Buffers[0].Role == model.RetryBuffer, "it is a %s buffer", flow.Buffers[0].Role)
		})
	}
}

// Without statistics consumers are unknown: roles stay as they are, and their reasons claim nothing.
func TestRolesWithoutKnownConsumers(t *testing.T) {
	unknown := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	topology := build.TopologyOf("4.0.5", build.Queue("w", unknown),
		build.Buffer("w.wait", "w", 1000, unknown), build.Queue("w.failed", unknown))
	flow, ok := topology.FlowOf(build.Ref("w"))
	must.That(t, ok, "%+v", flow)
	must.Equal(t, len(flow.Buffers), 1)
	must.Equal(t, len(flow.Failed), 1)
	for _, reason := range []string{flow.Buffers[0].Reason, flow.Failed[0].Reason} {
		assert.Lacks(t, reason, "no consumers")
		assert.Contains(t, reason, "consumers unknown")
	}
}

// A poll that is still running reads the earlier Seen: a new look must not change it.
func TestWhatWasSeenBefore(t *testing.T) {
	type ways = map[model.QueueRef][]model.QueueRef
	before := model.Seen{}.With(model.Seen{To: ways{build.Ref("buffer"): build.Refs("b")}})
	after := before.With(model.Seen{}).With(model.Seen{
		To:   ways{build.Ref("buffer"): build.Refs("a"), build.Ref("other"): build.Refs("c")},
		From: ways{build.Ref("buffer"): build.Refs("w")}, Counted: model.QueueSet{build.Ref("buffer"): true},
	})

	assert.Same(t, ways{build.Ref("buffer"): build.Refs("b")}, before.To)
	assert.That(t, len(before.From)+len(before.Counted) == 0, "%+v", before)

	assert.Same(t, model.Seen{
		To:   ways{build.Ref("buffer"): build.Refs("a", "b"), build.Ref("other"): build.Refs("c")},
		From: ways{build.Ref("buffer"): build.Refs("w")}, Counted: model.QueueSet{build.Ref("buffer"): true},
	}, after)
}

// Going by its bindings, publishers fill the buffer; messages in it show which of its workers sends them back.
func TestBuffersThatWorkersFillByThemselves(t *testing.T) {
	ladder := build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28)
	for _, test := range []struct {
		name   string
		parts  []build.Part
		buffer string
		want   map[string]model.Role // by the worker
	}{
		{
			"nothing was looked at", build.CopyKeyParts, "delay:5s",
			map[string]model.Role{"user:save": model.DelayedBuffer, "user:delete": model.DelayedBuffer},
		},
		{
			"one of its workers does", with(build.CopyKeyParts, build.SentInto("delay:5s", "user:save")), "delay:5s",

			map[string]model.Role{"user:save": model.RetryBuffer, "user:delete": model.DelayedBuffer},
		},
		{
			"a queue that it does not lead to",
			with(build.CopyKeyParts, build.Text("queue other consumers=1"), build.SentInto("delay:5s", "other")), "delay:5s",
			map[string]model.Role{"user:save": model.DelayedBuffer, "user:delete": model.DelayedBuffer},
		},
		{
			"one of several levels", with(ladder, build.Endpoint("w", 1), build.SentInto("nsb.v2.delay-level-05", "w")),
			"nsb.v2.delay-level-00",
			map[string]model.Role{"w": model.RetryBuffer},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)

			roles := map[string]model.Role{}
			for _, f := range topology.Flows() {
				roles[f.Name] = f.Role(build.Ref(test.buffer))
			}

			diff := cmp.Diff(test.want, roles)
			assert.That(t, diff == "", "%s\n%v", diff, build.Told(topology.Flows()))
		})
	}
}

func TestCarried(t *testing.T) {
	type expected struct {
		Name    string
		Version string
		Parts   []build.Part
		Want    string // of the failed queue: the origin and the count
	}

	must.Run(t, "testdata/carried.toml", func(t *testing.T, test expected) {
		c, _ := build.TopologyOf(test.Version, test.Parts...).Carried(build.Ref("failed"))
		got := fmt.Sprintf("%s %d", c.From.Name, c.Count)

		if c.Count == math.MaxInt64 {
			got = c.From.Name + " any"
		}

		assert.Equal(t, got, test.Want)
	})
}
