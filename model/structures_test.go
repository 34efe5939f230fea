package model_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Structures without telling names: each with its flows, and words of the reasons for their parts.
func TestFlowsOfStructures(t *testing.T) {
	type expected struct {
		Name    string
		Version string
		Parts   []build.Part
		Want    []string
		Reasons map[string]string // of a queue or exchange: words of its reason
		Alone   []string
	}

	for _, test := range append(must.Cases[expected](t, "testdata/structures.toml"), []expected{
		{
			Name: "binary delay levels are one buffer with a range",
			Parts: append(build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28),
				build.Endpoint("shipping", 1), build.Endpoint("billing", 1), build.Endpoint("error", 0)),
			Want: []string{
				"billing: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument)",
				"shipping: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument)",
			},

			Reasons: map[string]string{
				"nsb.v2.delay-level-00 … nsb.v2.delay-level-27": "28 queues are one delay: they have no " +
					"consumers, their TTLs double from 1s to 4y93d, and each expires into the next shorter one " +
					"(nsb.v2.delay-level-27 to nsb.v2.delay-level-00): a message waits in those that make up its " +
					"delay, at most 8y186d; 2 workers share it; delayed: publishers fill it",
				"shipping": "can receive messages that expire in nsb.v2.delay-level-00 … nsb.v2.delay-level-27, and has 1 consumer",
			},
			Alone: []string{"error"},
		},

		{
			Name: "several vhosts: the same names are different queues",
			Parts: []build.Part{
				build.Text(`
					queue w consumers=1
					buffer w.wait w 1000
					queue w.failed
				`),
				elsewhere("/b", build.Text("queue w consumers=1")),
				elsewhere("/b", build.Buffer("w.retry", "w", 2000)),
				elsewhere("/c", build.Queue("w.failed")),
			},
			Want:  []string{"w: w.wait=delayed(1s, argument) w.failed=failed", "w: w.retry=retry(2s, argument)"},
			Alone: []string{"/c/w.failed"},
		},
	}...) {
		t.Run(test.Name, func(t *testing.T) {
			if test.Version == "" {
				test.Version = "4.0.5"
			}

			topology := build.TopologyOf(test.Version, test.Parts...)
			assert.Same(t, test.Want, build.Told(topology.Flows()))
			got := map[string]string{}
			for _, f := range topology.Flows() {
				for _, m := range append(f.Failed, f.Worker) {
					got[m.Queue.String()] += m.Reason + "\n"
				}
				for _, b := range f.Buffers {
					got[b.Name()] += b.Reason + "\n"
					for _, ref := range b.Queues() {
						assert.Equal(t, f.Role(ref), b.Role, "%s", ref)
					}
				}
			}

			for name, words := range test.Reasons {
				assert.Contains(t, got[name], words, "%s because of", name)
			}

			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
				assert.That(t, m.Reason != "", "%s without a reason", m.Queue)
			}

			assert.Same(t, test.Alone, alone)
		})
	}
}

func TestWaiting(t *testing.T) {
	delayed := func(n int64) build.Part {
		return func(s *model.Snapshot) { s.Exchanges[len(s.Exchanges)-1].Delayed = model.Some(n) }
	}
	unacked := func(n int64) build.Setting { return func(q *model.Queue) { q.Unacked = model.Some(n) } }

	unknown := func(q *model.Queue) { q.Ready = model.Unknown[int64]() }
	for _, test := range []struct {
		name  string
		parts []build.Part
		want  model.Opt[int64]
	}{
		{
			"one queue", parts(build.Text(`
				queue w consumers=1
				buffer b w 1 ready=3
			`)),
			build.Some(3),
		},
		{"unknown", parts(build.Text("queue w consumers=1"), build.Buffer("b", "w", 1, unknown)), model.Unknown[int64]()},

		{
			"levels",
			parts(
				build.Text(`
					queue w consumers=1
					buffer p q 8000 ready=1
					buffer q r 4000 ready=2
				`), build.Buffer("r", "s", 2000, unknown),
				build.Text("buffer s w 1000 ready=4"),
			),
			build.Some(7),
		},

		{
			"an exchange",
			parts(
				build.Exchange("x-delayed-message", "x", "x-delayed-type", "fanout"), delayed(5),
				build.Text(`
					queue w consumers=1
					bind x w
				`),
			),
			build.Some(5),
		},

		{
			"consumers that hold them",
			parts(
				build.Text(`
					queue w consumers=1 dlx= key=w.XQ
					queue w.XQ
				`),
				build.Queue("w.DQ", build.Consumers(1), build.DLX("", "w.XQ"), build.Ready(1), unacked(6)),
			),
			build.Some(7),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			assert.Equal(t, topology.Waiting(topology.Flows()[0].Buffers[0]), test.want)
		})
	}
}

// elsewhere puts a queue into another vhost.
func elsewhere(vhost string, p build.Part) build.Part {
	return func(s *model.Snapshot) {
		p(s)
		s.Queues[len(s.Queues)-1].VHost = vhost
	}
}

// The next topology must see each change of a broker, as if it were made from scratch.
func TestTheNextTopologyIsTheOneFromNothing(t *testing.T) {
	structure := []build.Part{
		build.Text(`
			exchange direct x
			queue w consumers=1
			bind x k w
			queue w.failed
			queue b dlx=x key=k ttl=1000
		`),
	}

	change := func(more ...build.Part) []build.Part { return with(structure, more...) }
	tests := map[string][]build.Part{
		"nothing":           change(),
		"a count":           change(func(s *model.Snapshot) { s.Queues[0].Ready = build.Some(7) }),
		"consumers":         change(func(s *model.Snapshot) { s.Queues[0].Consumers = build.Some(0) }),
		"a new queue":       change(build.Text("queue c ttl=5")),
		"a queue that went": change(func(s *model.Snapshot) { s.Queues = s.Queues[1:] }),
		"an argument":       change(func(s *model.Snapshot) { s.Queues[2].Arguments["x-message-ttl"] = int64(2000) }),
		// not a TTL: that it changed is remembered, see TestTTLChanged
		"a policy": change(func(s *model.Snapshot) {
			s.Queues[0].Policy = "p"
			s.Queues[0].PolicyDefinition = model.Table{"max-length": int64(3)}
		}),
		"an unknown policy":   change(func(s *model.Snapshot) { s.Queues[2].PolicyDefinition = nil }),
		"a binding":           change(build.Bind("x", "k", "w.failed")),
		"a binding that went": change(func(s *model.Snapshot) { s.Bindings = s.Bindings[:0] }),
		"an alternate":        change(func(s *model.Snapshot) { s.Exchanges[1].Arguments["alternate-exchange"] = "y" }),
		"an exchange":         change(build.Exchange("fanout", "y")),
		"nothing read":        change(func(s *model.Snapshot) { s.Bindings = nil }),
		"another version":     change(func(s *model.Snapshot) { s.Overview.Version = model.ParseVersion("4.0.5") }),
		"ways of messages": change(func(s *model.Snapshot) {
			s.Seen.From = map[model.QueueRef][]model.QueueRef{build.Ref("b"): build.Refs("w")}
		}),
		"a policy's pattern": change(build.Text("policy p .* 1 delivery-limit=3")),
	}

	for name, parts := range tests {
		t.Run(name, func(t *testing.T) {
			after := build.Broker("3.10.8", parts...)
			got := build.TopologyOf("3.10.8", structure...).Next(after)
			want := model.NewTopology(after)
			assert.NoDiff(t, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
		})
	}
}

// TestWhatAPollRepeatsIsInMemoryOnce: most of a poll is names and tables, and they rarely change.
func TestWhatAPollRepeatsIsInMemoryOnce(t *testing.T) {
	broker := func(ready int64) *model.Snapshot {
		return build.Broker("3.10.8", build.Exchange("direct", "x"), build.Queue("w", build.Consumers(1), build.Ready(ready)),
			build.Text(`
				queue b dlx=x key=w ttl=1000
				bind x w w
			`))
	}

	first := model.NewTopology(broker(1))
	polled := broker(2)
	second := first.Next(polled)
	before, after := first.Snapshot, second.Snapshot
	assert.That(t, &before.Bindings[0] == &after.Bindings[0], "bindings are kept twice")

	for i := range before.Queues {
		kept := reflect.ValueOf(before.Queues[i].Arguments)
		table := reflect.ValueOf(after.Queues[i].Arguments)
		assert.That(t, kept.Pointer() == table.Pointer(), "the arguments of %s are kept twice", before.Queues[i].Name)
	}

	q, ok := second.Queue(build.Ref("w"))
	was, _ := first.Queue(build.Ref("w"))
	must.That(t, ok, "%v and %v are ready", was.Ready, q.Ready)
	assert.Equal(t, q.Ready.Or(0), 2)
	assert.Equal(t, was.Ready.Or(0), 1)
	assert.That(t, &polled.Bindings[0] != &after.Bindings[0], "the poll itself was changed")
}

// In a tangle of queues, each buffer belongs to dozens of flows.
func TestWhatFlowsShareIsInMemoryOnce(t *testing.T) {
	topology := model.NewTopology(build.Broker("3.10.8", build.Text(`
		exchange fanout x
		queue a consumers=1
		queue b consumers=1
		queue c consumers=1 dlx= key=later
		queue later dlx=x ttl=1000
		bind x a
		bind x b
		bind x c
	`)))

	flows := topology.Flows()
	must.Equal(t, len(flows), 3, "flows %+v", flows)
	must.Equal(t, len(flows[0].Buffers), 1)
	must.Equal(t, len(flows[2].Buffers), 1)
	assert.That(t, flows[0].Buffers[0] == flows[1].Buffers[0], "a buffer that is the same for two workers is kept twice")
	own := flows[2].Buffers[0]
	assert.That(t, own != flows[0].Buffers[0], "for the worker whose failures it gets it is %+v", own)
	assert.That(t, own.Rejected, "for the worker whose failures it gets it is %+v", own)
	assert.That(t, !flows[0].Buffers[0].Rejected, "for the worker whose failures it gets it is %+v", own)
}

// A flow stays when its worker stops, as long as the queues exist.
func TestRolesAreRemembered(t *testing.T) {
	at := func(consumers int64, parts ...build.Part) *model.Snapshot {
		work := build.Queue("work", build.Consumers(consumers), build.DLX("", "graveyard"))
		parts = append(parts, build.Text(`
			queue graveyard
			queue dead-letter-queue
		`), work)
		return build.TopologyOf("4.0.5", parts...).Snapshot
	}

	running := model.NewTopology(at(1))
	n := len(running.Flows())
	must.Equal(t, n, 1)
	must.Equal(t, len(model.NewTopology(at(0)).Flows()), 0, "%d flows: this does not need a memory", n)
	stopped := running.Next(at(0))
	changed := stopped.Next(at(0, build.Queue("other")))
	for name, topology := range map[string]*model.Topology{"stopped": stopped, "changed": changed} {
		flows := topology.Flows()
		must.Equal(t, len(flows), 1, "%s: %+v", name, flows)
		assert.Equal(t, flows[0].Name, "work", "%v", name)
		assert.Equal(t, len(flows[0].Failed), 2, "%v", name)
		assert.Contains(t, flows[0].Worker.Reason, "has no consumers", "%v", name)
	}

	gone := changed.Next(build.TopologyOf("4.0.5", build.Queue("graveyard")).Snapshot)
	if flows := gone.Next(at(0)).Flows(); len(flows) != 0 {
		t.Errorf("a queue that was deleted and made again: %+v", flows)
	}
}

// A worker with a TTL does not become a delay when its consumer goes; a delay that had a consumer stays one.
func TestWorkersWithTTLAreRemembered(t *testing.T) {
	at := func(consumers int, counts string) *model.Snapshot {
		return build.TopologyOf("4.0.5", build.Text(fmt.Sprintf(`
			queue in consumers=%d %s
		`, consumers, counts))).Snapshot
	}

	for counts, delays := range map[string]bool{
		"delivered=2 published=10 ttl=4000 dlx= key=w\nqueue w consumers=1":                 true,
		"acked=2 delivered=2 published=10 ttl=4000 dlx= key=w\nqueue w consumers=1":         false,
		"acked=2 delivered=2 published=10 ttl=4000 dlx= key=w\nqueue w consumers=1 acked=8": true,
	} {
		stopped := model.NewTopology(at(1, counts)).Next(at(0, counts))
		assert.Equal(t, stopped.IsBuffer(model.QueueRef{VHost: "/", Name: "in"}), delays, "%s", counts)
	}
}

// A new queue has no statistics: what is taken for a worker then is forgotten.
func TestUnknownConsumersMakeNoWorkers(t *testing.T) {
	at := func(settings ...build.Setting) *model.Snapshot {
		return build.TopologyOf("4.0.5", build.Exchange("headers", "dead"), build.Queue("late", settings...),
			build.Queue("pay.rejected", settings...), build.Text(`
				bind dead late
				bind dead pay.rejected
			`),
			build.Queue("pay", append(settings, build.DLX("dead"), build.TTL(4000))...)).Snapshot
	}

	unknown := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	flows := model.NewTopology(at(unknown)).Next(at()).Flows()
	must.Equal(t, len(flows), 1, "%+v", flows)
	assert.Equal(t, flows[0].Name, "pay")
	assert.Equal(t, len(flows[0].Failed), 2)
}

// crowded are topologies in which each queue can reach many others. Work that visits all of them for each queue would
// be slow here.
func crowded(endpoints, services, chained int) map[string]*model.Snapshot {
	levels := build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28)
	for i := range endpoints {
		levels = append(levels, build.Endpoint(fmt.Sprintf("endpoint-%04d", i), 1))
	}

	topic := []build.Part{build.Text(`
		exchange topic master
		exchange topic dead
	`)}
	failed := []build.Part{build.Text(`
		exchange fanout dead
		queue graveyard
		bind dead graveyard
	`)}
	for i := range services {
		name := fmt.Sprintf("service-%04d", i)
		topic = append(topic,
			build.Queue(name, build.Consumers(1), build.DLX("dead")), build.Bind("master", fmt.Sprintf("event.%d.*", i), name),
			build.Queue(name+".retry", build.DLX("master"), build.TTL(30000)), build.Exchange("fanout", name+".retry"),
			build.Bind(name+".retry", "", name+".retry"),
			build.Queue(name+".failed"), build.Bind("dead", fmt.Sprintf("event.%d.*", i), name+".failed"))
		failed = append(failed, build.Queue(name, build.Consumers(1), build.DLX("dead")))
	}

	chain := []build.Part{build.Text("queue w consumers=1")}
	for i := range chained {
		chain = append(chain, build.Queue(fmt.Sprintf("chain-%d", i), build.DLX(""),
			build.DeadKey(fmt.Sprintf("chain-%d", i+1)), build.TTL(int64(1000+i))))
	}

	chain = append(chain, build.Buffer(fmt.Sprintf("chain-%d", chained), "w", 1))

	return map[string]*model.Snapshot{
		"endpoints with 28 delay levels":  build.Broker("4.0.5", levels...),
		"services whose keys are unknown": build.Broker("4.0.5", topic...),
		"workers with one failed queue":   build.Broker("4.0.5", failed...),
		"buffers in a chain":              build.Broker("4.0.5", chain...),
	}
}

func BenchmarkCrowds(b *testing.B) {
	for name, s := range crowded(1000, 2500, 1000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				model.NewTopology(s)
			}
		})
	}
}

func TestCrowdsAreBounded(t *testing.T) {
	for name, s := range crowded(100, 250, 100) {
		t.Run(name, func(t *testing.T) {
			topology := model.NewTopology(s)
			members := 0
			for f := range model.Each(topology.Flows()) {
				members += len(f.Buffers) + len(f.Failed)
			}
			assert.That(t, members <= 3*len(s.Queues), "%d memberships of %d queues", members, len(s.Queues))
		})
	}
}
