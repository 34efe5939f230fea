package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Queues and exchanges as each framework in the table of conventions declares them, with running workers.
func TestFlowsOfEachConvention(t *testing.T) {
	type expected struct {
		Name  string
		Parts []build.Part
		Want  []string
		Alone []string
	}

	for _, test := range append(must.Cases[expected](t, "testdata/conventions.toml"), []expected{
		{
			Name: "NServiceBus: one endpoint, delays, the error queue",

			Parts: append(build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28),
				build.Endpoint("mail", 1), build.Endpoint("error", 0)),
			Want: []string{"mail: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument) error=failed"},
		},
		{
			Name: "Celery: native delayed delivery",
			Parts: append(build.DelayLevels("celery_delayed_%d", "celery_delayed_delivery", 28),
				build.Text(`
					exchange topic tasks
					quorum tasks consumers=1
					bind tasks tasks tasks
					bind-exchange celery_delayed_delivery #.tasks tasks
				`)),
			Want: []string{"tasks: celery_delayed_0 … celery_delayed_27=delayed(1s…8y186d, argument)"},
		},

		{
			Name: "EasyNetQ: one error queue behind exchanges named after keys; a future publish",
			Parts: []build.Part{
				build.Exchange("topic", "Shop.Order, Shop"), build.Queue("Shop.Order, Shop_billing", build.Consumers(1)),
				build.Bind("Shop.Order, Shop", "#", "Shop.Order, Shop_billing"), build.Text(`
					exchange direct ErrorExchange_#
					queue EasyNetQ_Default_Error_Queue
					bind ErrorExchange_# # EasyNetQ_Default_Error_Queue
				`),
				build.Exchange("direct", "Shop.Order, Shop_00_00_30"),
				build.Queue("Shop.Order, Shop_00_00_30", build.TTL(30000), build.DLX("Shop.Order, Shop", "#")),
				build.Bind("Shop.Order, Shop_00_00_30", "#", "Shop.Order, Shop_00_00_30"),
			},

			Want: []string{"Shop.Order, Shop_billing: Shop.Order, Shop_00_00_30=delayed(30s, argument) " +
				"EasyNetQ_Default_Error_Queue=failed"},
		},

		{
			Name: "Dramatiq: the workers hold what is delayed; the dead queue forgets", Parts: build.DramatiqParts,
			Want: []string{"mail: mail.DQ=delayed(per message, message) mail.XQ=failed"},
		},

		{
			Name:  "none: a plain dead-letter exchange",
			Parts: build.ScenarioParts["a plain worker with a dead-letter queue"],
			Want:  []string{"mail: mail.dlq=failed"},
		},
	}...) {
		t.Run(test.Name, func(t *testing.T) {
			topology := build.TopologyOf("4.3.6", test.Parts...)
			assert.Same(t, test.Want, build.Told(topology.Flows()))

			for _, f := range topology.Flows() {
				for _, b := range f.Buffers {
					assert.That(t, b.Reason != "", "%s has no reason", b.Name())
				}
			}

			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}

			assert.Same(t, test.Alone, alone)
			for _, f := range Of(topology) {
				assert.That(t, f.Code != "buffer-with-consumers", "%s: %s", f.Queue, f.Message)
			}
		})
	}
}

// A loop delivers the same messages again and again; the finding says how many there are, how fast they cycle, and how
// often they were delivered.
func TestRequeueLoop(t *testing.T) {
	type expected struct {
		Name   string
		Rates  [2]float64 // redeliveries and acknowledgements
		Counts [3]int64   // ready, unacknowledged, redelivered
		Acked  int64      // 0: not known
		Polls  float64    // of a queue without consumers
		Beside float64    // polls beside a consumer
		Want   []string   // in message and evidence; none: there is no loop
	}
	must.Run(t, "testdata/requeue_loops.toml", func(t *testing.T, test expected) {
		w := build.Queue("w", build.Consumers(1), func(q *model.Queue) {
			q.RedeliverRate, q.AckRate = model.Some(test.Rates[0]), model.Some(test.Rates[1])
			q.Ready, q.Unacked = model.Some(test.Counts[0]), model.Some(test.Counts[1])
			q.Redelivered = model.Some(test.Counts[2])
			if test.Acked > 0 {
				q.Acked = model.Some(test.Acked)
			}
			if test.Polls > 0 {
				q.Consumers, q.PollRate = build.Some(0), model.Some(test.Polls)
			}
			if test.Beside > 0 {
				q.DeliverRate, q.PollRate = model.Some(test.Rates[0]), model.Some(test.Beside)
			}
		})

		found := Of(build.TopologyOf("4.3.6", w))
		must.That(t, (len(found) == 1) == (test.Want != nil), "%v", codes(found))

		for _, f := range found {
			for _, words := range test.Want {
				assert.That(t, strings.Contains(f.Message+"\n"+f.Evidence, words),
					"nothing of %q in: %s\n%s", words, f.Message, f.Evidence)
			}
			assert.That(t, f.Happening, "it does not say that it happens now")
		}
	})
}

// A slow loop in a queue that was worked off before shows between polls: the same messages, and no acknowledgement.
func TestSlowLoopBetweenPolls(t *testing.T) {
	type slowLoop struct {
		Name        string
		Polls       [][3]int64
		Held, Loops bool
	}

	for _, c := range must.Cases[slowLoop](t, "testdata/slow_loops.toml") {
		var topology *model.Topology

		for i, p := range c.Polls {
			s := build.Broker("4.3.6", build.Quorum("w", build.Consumers(1), func(q *model.Queue) {
				q.Ready, q.Unacked = build.Some(0), model.Some(p[2])
				q.Redelivered, q.Acked, q.RedeliverRate = model.Some(p[0]), model.Some(p[1]), model.Some(0.4)
				if c.Held && i == len(c.Polls)-1 {
					q.RedeliverRate = model.Unknown[float64]()
				}
			}))

			s.TakenAt = s.TakenAt.Add(time.Duration(i) * 5 * time.Second)
			topology = topology.Next(s)
		}

		found := slices.ContainsFunc(Of(topology), func(f Finding) bool { return f.Code == "requeue-loop" })
		assert.Equal(t, found, c.Loops, "%s", c.Name)
	}
}

// A retry buffer without a delay sends messages round many times a second. An outage in which all that comes waits for
// its retry is none.
func TestRoundsBetweenPolls(t *testing.T) {
	type rounds struct {
		Name  string
		Polls [][]int64
		Loops bool
	}

	for _, c := range must.Cases[rounds](t, "testdata/rounds.toml") {
		var topology *model.Topology
		for i, p := range c.Polls {
			s := build.Broker("4.0.5", build.Text("buffer w.retry w 0"), build.Queue("w", build.Consumers(1),
				build.DLX("", "w.retry"), func(q *model.Queue) {
					q.RedeliverRate = model.Some(0.0)
					q.Ready = model.Some(p[3])
					q.Delivered, q.Acked = model.Some(p[0]), model.Some(p[1])
					q.Published, q.Redelivered = model.Some(p[2]), model.Some(append(p, 0)[4])
				}))
			s.TakenAt = s.TakenAt.Add(time.Duration(i) * 5 * time.Second)
			topology = topology.Next(s)
		}

		assert.Equal(t, slices.Contains(codes(Of(topology)), "warning rejected-loop w"), c.Loops, "%s", c.Name)
	}
}

// Whether a delivery limit helps depends on the queue and the version: only quorum queues have one, from 4.0 by
// default, and from 4.3 basic.nack does not count towards it.
func TestRemediesOfLoops(t *testing.T) {
	for _, test := range []struct{ version, queue, remedy string }{
		{"3.10.8", "queue w", "use a quorum queue with a delivery limit; "},
		{"4.3.6", "queue w", "quorum queue with a delivery limit (basic.reject counts towards it, basic.nack does not); "},
		{"3.10.8", "quorum w", "give the queue a delivery limit; "},
		{"4.0.5", "quorum w", "leave them to delivery-limit 20 (default); "},
		{"4.3.6", "quorum w delivery-limit=-1", "give the queue a delivery limit (basic.reject"},
		{"4.3.6", "quorum w delivery-limit=5", "counts towards delivery-limit 5 (argument), and basic.nack does not; "},
	} {
		s := build.Broker(test.version, build.Text(test.queue+" consumers=1"))
		q := &s.Queues[0]
		q.Ready, q.Redelivered, q.RedeliverRate = build.Some(1), build.Some(500), model.Some(50.0)
		all := Of(model.NewTopology(s))
		i := slices.IndexFunc(all, func(f Finding) bool { return f.Code == "requeue-loop" })
		must.That(t, i >= 0, "%s of %s: %v", test.queue, test.version, codes(all))
		assert.Contains(t, all[i].Remedy, test.remedy)
	}
}

// Peeking at a failed queue several times within seconds, as dlxtop does, is not a worker's loop.
func TestLooksAreNoLoop(t *testing.T) {
	looked := func(q *model.Queue) {
		q.RedeliverRate, q.Ready, q.Redelivered = model.Some(6.0), build.Some(6), build.Some(60)
	}
	found := codes(Of(build.Described("3.10.8", `
		exchange fanout dead
		queue mail dlx=dead consumers=1
	`,
		build.Queue("mail.dlq", looked), build.Bind("dead", "", "mail.dlq"))))
	assert.That(t, !slices.Contains(found, "error requeue-loop mail.dlq"), "found %v", found)
}

// A worker that crashes on its message is mostly disconnected when the broker counts consumers.
func TestCrashLoop(t *testing.T) {
	crashing := func(polled model.Opt[float64]) build.Setting {
		return func(q *model.Queue) {
			q.RedeliverRate = model.Some(0.4)
			q.PollRate = polled
			q.Ready, q.Redelivered = build.Some(1), build.Some(10)
		}
	}

	for _, test := range []struct {
		name   string
		polled model.Opt[float64]
		loops  bool
	}{
		{"a worker that crashes", model.Unknown[float64](), true},
		{"a look at the messages of a worker that is down", model.Some(0.4), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := codes(Of(build.TopologyOf("4.0.5", build.Exchange("fanout", "dead"),
				build.Queue("mail", build.DLX("dead"), crashing(test.polled)),
				build.Queue("mail.dlq", crashing(model.Unknown[float64]())), build.Bind("dead", "", "mail.dlq"))))
			assert.Equal(t, slices.Contains(found, "error requeue-loop mail"), test.loops, "found %v", found)
			assert.That(t, !slices.Contains(found, "error requeue-loop mail.dlq"), "no worker is on the failed queue: %v", found)
		})
	}
}

func TestSinceWhenFindingsAreThere(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var memory Memory
	for _, step := range []struct {
		second int
		codes  []string
		want   []int // seconds
	}{
		{0, []string{"a"}, []int{0}},
		{2, []string{"a", "b"}, []int{0, 2}},
		{20, []string{"b"}, []int{2}},
		{30, []string{"a", "b"}, []int{0, 2}},
		{40, nil, nil},
		{71, []string{"a", "b"}, []int{71, 71}},
		{171, []string{"a", "b"}, []int{71, 71}}, // counts of a slow broker are far apart
		{271, []string{"b"}, []int{71}},
		{371, []string{"a", "b"}, []int{371, 71}},
	} {
		var found []Finding
		for _, code := range step.codes {
			found = append(found, Finding{Code: code})
		}

		before := len(memory)
		next := memory.Mark(found, start.Add(time.Duration(step.second)*time.Second))
		assert.That(t, len(memory) == before, "at %d the memory of the poll before was changed", step.second)
		memory = next
		for i, f := range found {
			want := start.Add(time.Duration(step.want[i]) * time.Second)
			assert.That(t, f.Since.Equal(want),
				"at %d, %s is there since %v, want %v", step.second, f.Code, f.Since, want)
		}
	}
}

// Loss of messages that keep their keys is an error only with evidence.
func TestUnroutableOwnKeys(t *testing.T) {
	// the worker has received dead letters: 2 published, 6 acknowledged
	arrived := func(s *model.Snapshot) {
		for i := range s.Queues {
			if s.Queues[i].Name == "user:save" {
				build.Counted(2, 6)(&s.Queues[i])
			}
		}
	}

	for _, test := range []struct {
		name  string
		parts []build.Part
		want  string
	}{
		{"nothing shows that they arrive", nil, "warning dead-letter-unroutable delay:5s"},
		{"the statistics show it", parts(arrived), ""},
		{
			"another buffer explains the statistics", parts(arrived, build.Buffer("other", "user:save", 1000)),
			"warning dead-letter-unroutable delay:5s",
		},
		{"messages show it", parts(build.Seen("delay:5s", "user:save")), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := Of(build.TopologyOf("4.0.5", slices.Concat(build.CopyKeyParts, test.parts)...))
			found = slices.DeleteFunc(found, func(f Finding) bool { return f.Code != "dead-letter-unroutable" })
			assert.Equal(t, strings.Join(codes(found), "; "), test.want)
		})
	}

	t.Run("what leaves and arrives nowhere is lost", func(t *testing.T) {
		still := model.Movement{In: model.Some(0.0), Dead: model.Some(0.0)}
		moves := model.Moves{
			build.Ref("delay:5s"):  {In: model.Some(2.0), Dead: model.Some(2.0), GoneLate: 9},
			build.Ref("user:save"): still, build.Ref("user:delete"): still,
		}

		topology := build.TopologyOf("4.0.5", build.CopyKeyParts...)
		want := []string{"error losing-now delay:5s"}
		assert.Same(t, want, codes(LosingNow(topology, moves, 12*time.Second)))
		moves[build.Ref("user:save")] = model.Movement{In: model.Some(2.0)}
		found := LosingNow(topology, moves, 12*time.Second)
		assert.That(t, len(found) == 0, "%v", codes(found))
	})
}

// A retry queue that its worker declares on demand exists at some polls only; a missing failed queue is really missing.
func TestQueuesThatAreThereAtSomePolls(t *testing.T) {
	worker := []build.Part{build.Text(`
		exchange direct x
		queue w dlx=x key=k consumers=1
	`)}
	lease := build.Argument("x-expires", int64(6000))

	for _, test := range []struct {
		name    string
		dead    build.Part
		want    Level
		because string
	}{
		{
			"a retry queue", build.Buffer("r", "w", 3000, lease), LevelWarning,
			"at an earlier poll they went to r",
		},
		{"a failed queue", build.Queue("r", lease), LevelError, "no queue is reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			with := append([]build.Part{test.dead, build.Bind("x", "k", "r")}, worker...)
			topology := build.TopologyOf("4.0.5", with...)
			for range 2 { // it is remembered
				topology = topology.Next(build.Broker("4.0.5", worker...))
			}
			found := Of(topology)
			must.Equal(t, len(found), 1, "%+v", found)
			assert.Equal(t, found[0].Level, test.want)
			assert.Contains(t, found[0].Evidence, test.because)
		})
	}
}

// Anything that a broker may contain, or that may disappear between two requests, causes neither a crash nor a guess.
func TestHostileTopologies(t *testing.T) {
	long := strings.Repeat("ab.", 84) + "abc" // 255 bytes
	words := strings.TrimSuffix(strings.Repeat("a.", 100), ".")
	crowd := []build.Part{
		build.Text(`
			exchange topic x
			queue q dlx=x ttl=1000
			queue w consumers=1
		`),
	}
	for i := range 5000 {
		crowd = append(crowd, build.Bind("x", fmt.Sprintf("k.%d.#", i), "w"))
	}

	tests := map[string][]build.Part{
		"5,000 bindings on one exchange": crowd,
		"a key of 255 bytes": {
			build.Exchange("topic", "x"), build.Queue("q", build.DLX("x", long), build.TTL(1)), build.Queue("w"),
			build.Bind("x", "#."+long[:200]+".#", "w"),
		},
		"a key of 100 words": {
			build.Exchange("topic", "x"), build.Queue("q", build.DLX("x", words), build.TTL(1)), build.Queue("w"),
			build.Bind("x", strings.Repeat("#.a.", 20)+"b", "w"),
		},
		"bindings to what is gone": {
			build.Text(`
				exchange direct x
				queue q dlx=x ttl=1
				bind x q gone
			`), build.BindExchange("x", "q", "gone too"), build.Bind("gone as well", "", "q"),
		},

		"arguments of the wrong type": {build.Quorum("q", build.Argument("x-message-ttl", "1000"),
			build.Argument("x-max-length", true), build.Argument("x-dead-letter-exchange", int64(7)),
			build.Argument("x-expires", []any{}), build.Argument("x-overflow", model.Table{}),
			build.Argument("x-delivery-limit", 1.5))},
		"a negative TTL": {build.Text(`
			queue q ttl=-1 dlx=x
			exchange fanout x
		`)},
		"a TTL of 2^62": {build.Queue("q", build.TTL(1<<62), build.DLX("")), build.Exchange("fanout", "x")},
		"patterns that cannot be read": {build.Text(`
			queue q
			policy p ( 1 delivery-limit=1
			policy p2 (?=a) 1
		`)},
		"an unknown type of queue": {build.Queue("q", build.OfType("x-new"), build.DLX("x"), build.TTL(5))},
		"a nameless type of x-delayed": {
			build.Text(`
				exchange x-delayed-message x
				queue q
				bind x q
			`),
		},
		"a queue that is its own DLX": {build.Buffer("q", "q", 5)},

		"hostile names": {
			build.Exchange("fanout", "\x1b[2J"),
			build.Queue("q\u202egnp\x00", build.DLX("\x1b[2J"), build.TTL(5)), build.Bind("\x1b[2J", "\r\n", "q\u202egnp\x00"),
		},
	}

	for name, parts := range tests {
		for _, version := range []string{"3.10.8", "4.3.6", ""} {
			t.Run(name+" "+version, func(t *testing.T) {
				topology := build.TopologyOf(version, parts...)
				for _, q := range topology.Snapshot.Queues {
					topology.Exits(q.QueueRef)
					peek.For(topology, q.QueueRef, peek.Want{})
				}

				for _, f := range Of(topology) {
					assert.Equal(t, f.Message, model.Printable(f.Message), "%v", f.Evidence)
					assert.Equal(t, f.Evidence, model.Printable(f.Evidence), "%v", f.Message)
				}
			})
		}
	}

	t.Run("5,000 bindings lead to the worker", func(t *testing.T) {
		r := build.TopologyOf("3.10.8", crowd...).Route("/", "x", []string{"k.4711.a.b"}, nil)
		assert.Equal(t, len(r.Queues), 1, "%+v", r)
		assert.That(t, r.Exact, "%+v", r)
	})

	t.Run("a TTL as text is no TTL", func(t *testing.T) {
		s := build.TopologyOf("3.10.8",
			tests["arguments of the wrong type"]...).Settings(build.Ref("q"))
		assert.That(t, !s.TTL.Set, "%+v", s)
		assert.That(t, !s.DLX.Set, "%+v", s)
		assert.That(t, !s.MaxLength.Set, "%+v", s)
		assert.That(t, !s.DeliveryLimit.Set, "%+v", s)
	})
}
