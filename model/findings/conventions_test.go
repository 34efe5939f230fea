package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Queues and exchanges as each framework in the table of conventions declares them, with running workers.
func TestFlowsOfEachConvention(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []build.Part
		want  []string
		alone []string
	}{
		{
			name: "Spring Cloud Stream: a group with its DLQ on the exchange DLX, and a parking lot that the application fills",
			parts: []build.Part{
				build.Exchange("topic", "orders"), build.Exchange("direct", "DLX"),
				build.Queue("orders.billing", build.Consumers(1), build.DLX("DLX", "orders.billing")),
				build.Bind("orders", "#", "orders.billing"), build.Queue("orders.billing.dlq"),
				build.Bind("DLX", "orders.billing", "orders.billing.dlq"), build.Queue("orders.billing.parkingLot"),
			},
			want: []string{"orders.billing: orders.billing.dlq=failed orders.billing.parkingLot=failed"},
		},
		{
			name: "Spring Cloud Stream: the DLQ sends back after dlqTtl",
			parts: []build.Part{
				build.Exchange("topic", "orders"), build.Exchange("direct", "DLX"),
				build.Queue("orders.billing", build.Consumers(1), build.DLX("DLX", "orders.billing")),
				build.Queue("orders.billing.dlq", build.DLX("orders", "orders.billing"), build.TTL(5000)),
				build.Bind("DLX", "orders.billing", "orders.billing.dlq"), build.Bind("orders", "#", "orders.billing"),
			},
			want: []string{"orders.billing: orders.billing.dlq=retry(5s, argument)"},
		},
		{
			name: "MassTransit: error and skipped queues behind exchanges of their names, and a delaying exchange",
			parts: []build.Part{
				build.Exchange("fanout", "mail"), build.Queue("mail", build.Consumers(1)), build.Bind("mail", "", "mail"),
				build.Exchange("fanout", "mail_error"), build.Queue("mail_error"), build.Bind("mail_error", "", "mail_error"),
				build.Exchange("fanout", "mail_skipped"), build.Queue("mail_skipped"),
				build.Bind("mail_skipped", "", "mail_skipped"),
				build.Exchange("x-delayed-message", "mail_delay", "x-delayed-type", "fanout"),
				build.BindExchange("mail_delay", "", "mail"),
			},
			want: []string{"mail: mail_delay=delayed(per message, message) mail_error=failed mail_skipped=failed"},
		},
		{
			name: "NServiceBus: one endpoint, delays, the error queue",
			parts: append(build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28),
				build.Endpoint("mail", 1), build.Endpoint("error", 0)),
			want: []string{"mail: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument) error=failed"},
		},
		{
			name: "Celery: native delayed delivery",
			parts: append(build.DelayLevels("celery_delayed_%d", "celery_delayed_delivery", 28),
				build.Exchange("topic", "tasks"), build.Quorum("tasks", build.Consumers(1)),
				build.Bind("tasks", "tasks", "tasks"), build.BindExchange("celery_delayed_delivery", "#.tasks", "tasks")),
			want: []string{"tasks: celery_delayed_0 … celery_delayed_27=delayed(1s…8y186d, argument)"},
		},
		{
			name: "EasyNetQ: one error queue behind exchanges named after keys; a future publish",
			parts: []build.Part{
				build.Exchange("topic", "Shop.Order, Shop"), build.Queue("Shop.Order, Shop_billing", build.Consumers(1)),
				build.Bind("Shop.Order, Shop", "#", "Shop.Order, Shop_billing"), build.Exchange("direct", "ErrorExchange_#"),
				build.Queue("EasyNetQ_Default_Error_Queue"), build.Bind("ErrorExchange_#", "#", "EasyNetQ_Default_Error_Queue"),
				build.Exchange("direct", "Shop.Order, Shop_00_00_30"),
				build.Queue("Shop.Order, Shop_00_00_30", build.TTL(30000), build.DLX("Shop.Order, Shop", "#")),
				build.Bind("Shop.Order, Shop_00_00_30", "#", "Shop.Order, Shop_00_00_30"),
			},
			want: []string{"Shop.Order, Shop_billing: Shop.Order, Shop_00_00_30=delayed(30s, argument) " +
				"EasyNetQ_Default_Error_Queue=failed"},
		},
		{
			name: "EasyNetQ: several workers share the error queue",
			parts: []build.Part{
				build.Queue("Order_billing", build.Consumers(1)), build.Queue("Order_stock", build.Consumers(1)),
				build.Queue("EasyNetQ_Default_Error_Queue"),
			},
			alone: []string{"EasyNetQ_Default_Error_Queue"},
		},
		{
			name: "Sneakers and Kicks: retry, requeue and error exchanges",
			parts: []build.Part{
				build.Exchange("topic", "mail-retry"), build.Exchange("topic", "mail-retry-requeue"),
				build.Exchange("topic", "mail-error"), build.Queue("mail", build.Consumers(1), build.DLX("mail-retry")),
				build.Bind("mail-retry-requeue", "#", "mail"),
				build.Queue("mail-retry", build.TTL(60000), build.DLX("mail-retry-requeue")),
				build.Bind("mail-retry", "#", "mail-retry"), build.Queue("mail-error"), build.Bind("mail-error", "#", "mail-error"),
			},
			want: []string{"mail: mail-retry=retry(1m, argument) mail-error=failed"},
		},
		{
			name: "Kicks with a backoff: a retry queue for each delay",
			parts: []build.Part{
				build.Exchange("topic", "mail-backoff"), build.Exchange("topic", "mail-retry-requeue"),
				build.Queue("mail", build.Consumers(1)), build.Bind("mail-retry-requeue", "#", "mail"),
				build.Queue("mail-retry-30000", build.TTL(30000), build.DLX("mail-retry-requeue")),
				build.Bind("mail-backoff", "30000", "mail-retry-30000"),
				build.Queue("mail-retry-60000", build.TTL(60000), build.DLX("mail-retry-requeue")),
				build.Bind("mail-backoff", "60000", "mail-retry-60000"),
			},
			want: []string{"mail: mail-retry-30000=retry(30s, argument) mail-retry-60000=retry(1m, argument)"},
		},
		{
			name: "Dramatiq: the workers hold what is delayed; the dead queue forgets", parts: build.DramatiqParts,
			want: []string{"mail: mail.DQ=delayed(per message, message) mail.XQ=failed"},
		},
		{
			name: "Wolverine: one dead letter queue by arguments",
			parts: []build.Part{
				build.Exchange("fanout", "wolverine-dead-letter-queue"), build.Queue("wolverine-dead-letter-queue"),
				build.Bind("wolverine-dead-letter-queue", "", "wolverine-dead-letter-queue"),
				build.Queue("mail", build.Consumers(1), build.DLX("wolverine-dead-letter-queue")),
				build.Queue("stock", build.Consumers(1), build.DLX("wolverine-dead-letter-queue")),
			},
			want: []string{"mail: wolverine-dead-letter-queue=failed", "stock: wolverine-dead-letter-queue=failed"},
		},
		{
			name: "Rebus: one error queue for all",
			parts: []build.Part{
				build.Exchange("direct", "RebusDirect"), build.Queue("mail", build.Consumers(1)),
				build.Queue("stock", build.Consumers(1)), build.Queue("error"), build.Bind("RebusDirect", "error", "error"),
			},
			alone: []string{"error"},
		},
		{
			name: "Watermill: a poison queue that the user named",
			parts: []build.Part{
				build.Exchange("fanout", "mail"), build.Queue("mail", build.Consumers(1)), build.Bind("mail", "", "mail"),
				build.Exchange("fanout", "mail.poison"), build.Queue("mail.poison"), build.Bind("mail.poison", "", "mail.poison"),
			},
			want: []string{"mail: mail.poison=failed"},
		},
		{
			name: "Rascal: delays and dead letters that the user named",
			parts: []build.Part{
				build.Exchange("topic", "delay"), build.Exchange("topic", "retry"), build.Exchange("topic", "dead_letters"),
				build.Queue("demo:save", build.Consumers(1), build.DLX("dead_letters", "demo.dead")),
				build.Bind("retry", "demo.save", "demo:save"),
				build.Queue("demo:delay:1m", build.TTL(60000), build.DLX("retry", "demo.save")),
				build.Bind("delay", "delay.1m", "demo:delay:1m"),
				build.Queue("demo:dead_letters"), build.Bind("dead_letters", "demo.dead", "demo:dead_letters"),
			},
			want: []string{"demo:save: demo:delay:1m=delayed(1m, argument) demo:dead_letters=failed"},
		},
		{
			name: "x-delayed-message plugin",
			parts: []build.Part{
				build.Exchange("x-delayed-message", "my-exchange", "x-delayed-type", "direct"),
				build.Queue("mail", build.Consumers(1)), build.Bind("my-exchange", "mail", "mail"),
			},
			want: []string{"mail: my-exchange=delayed(per message, message)"},
		},
		{
			name: "quorum delayed retry, by policy",
			parts: []build.Part{
				build.Quorum("mail", build.Consumers(1), build.Policy("retry", model.Table{
					"delayed-retry-type": "all",
					"delayed-retry-min":  int64(1000), "delayed-retry-max": int64(60000),
				})),
			},
			want: []string{"mail: retries by itself: all (policy retry)"},
		},
		{
			name:  "none: a plain dead-letter exchange",
			parts: build.ScenarioParts["a plain worker with a dead-letter queue"],
			want:  []string{"mail: mail.dlq=failed"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.3.6", test.parts...)
			assert.NoDiff(t, cmp.Diff(test.want, build.Told(topology.Flows())))
			for _, f := range topology.Flows() {
				for _, b := range f.Buffers {
					assert.That(t, b.Reason != "", "%s has no reason", b.Name())
				}
			}
			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}
			assert.NoDiff(t, cmp.Diff(test.alone, alone))
			for _, f := range Of(topology) {
				assert.That(t, f.Code != "buffer-with-consumers", "%s: %s", f.Queue, f.Message)
			}
		})
	}
}

// A loop delivers the same messages again and again; the finding says how many there are, how fast they cycle, and how
// often they were delivered.
func TestRequeueLoop(t *testing.T) {
	taken := func(again, acked float64, ready, unacked, total int64) build.Setting {
		return func(q *model.Queue) {
			q.RedeliverRate, q.AckRate = model.Some(again), model.Some(acked)
			q.Ready, q.Unacked, q.Redelivered = model.Some(ready), model.Some(unacked), model.Some(total)
		}
	}
	for _, test := range []struct {
		name string
		set  build.Setting
		want []string // in message and evidence; nil: there is no loop
	}{
		{"one", taken(24, 0, 0, 1, 1722), []string{
			"returns its 1 message and receives it again, 24.0 times", "1,722 times since RabbitMQ",
		}},
		{"several", taken(24, 0, 39, 1, 1722), []string{"returns its 40 messages and receives them again, 24.0 " +
			"times"}},
		{"a crash every second or two", taken(0.6, 0, 0, 1, 11), []string{"receives it again, 0.6 times"}},
		{"a crash now, after much work", func(q *model.Queue) {
			taken(0.6, 0, 0, 1, 11)(q)
			q.Acked = model.Some[int64](5)
		}, nil},
		{"a first crash", taken(0.2, 0, 0, 1, 1), nil},
		{"looks at a queue without consumers", func(q *model.Queue) {
			taken(0.6, 0, 1, 0, 11)(q)
			q.Consumers, q.PollRate = model.Some[int64](0), model.Some(0.6)
		}, nil},
		{"the work gets done", taken(24, 20, 39, 1, 1722), nil},
		{"a worker that was restarted with its hands full", taken(8, 0, 0, 40, 40), nil},
		{"nothing is there any more", taken(24, 0, 0, 0, 1722), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := Of(build.TopologyOf("4.3.6", build.Queue("w", build.Consumers(1), test.set)))
			must.That(t, (len(found) == 1) == (test.want != nil), "%v", codes(found))
			for _, f := range found {
				for _, words := range test.want {
					assert.That(t, strings.Contains(f.Message+"\n"+f.Evidence, words),
						"nothing of %q in: %s\n%s", words, f.Message, f.Evidence)
				}
				assert.That(t, f.Happening, "it does not say that it happens now")
			}
		})
	}
}

// Peeking at a failed queue several times within seconds, as dlxtop does, is not a worker's loop.
func TestLooksAreNoLoop(t *testing.T) {
	looked := func(q *model.Queue) {
		q.RedeliverRate, q.Ready, q.Redelivered = model.Some(6.0), model.Some[int64](6), model.Some[int64](60)
	}
	found := codes(Of(build.TopologyOf("3.10.8", build.Exchange("fanout", "dead"),
		build.Queue("mail", build.DLX("dead"), build.Consumers(1)),
		build.Queue("mail.dlq", looked), build.Bind("dead", "", "mail.dlq"))))
	assert.That(t, !slices.Contains(found, "error requeue-loop mail.dlq"), "found %v", found)
}

// A worker that crashes on its message is mostly disconnected when the broker counts consumers.
func TestCrashLoop(t *testing.T) {
	crashing := func(polled model.Opt[float64]) build.Setting {
		return func(q *model.Queue) {
			q.RedeliverRate, q.PollRate = model.Some(0.4), polled
			q.Ready, q.Redelivered = model.Some[int64](1), model.Some[int64](10)
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
		{171, []string{"a", "b"}, []int{71, 71}}, // a slow broker is polled every two minutes
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
			build.Ref("delay:5s"):  {In: model.Some(2.0), Dead: model.Some(2.0)},
			build.Ref("user:save"): still, build.Ref("user:delete"): still,
		}
		topology := build.TopologyOf("4.0.5", build.CopyKeyParts...)
		want := []string{"error losing-now delay:5s"}
		assert.NoDiff(t, cmp.Diff(want, codes(LosingNow(topology, moves, 12*time.Second))))
		moves[build.Ref("user:save")] = model.Movement{In: model.Some(2.0)}
		found := LosingNow(topology, moves, 12*time.Second)
		assert.That(t, len(found) == 0, "%v", codes(found))
	})
}

// A retry queue that its worker declares on demand exists at some polls only; a missing failed queue is really missing.
func TestQueuesThatAreThereAtSomePolls(t *testing.T) {
	worker := []build.Part{build.Exchange("direct", "x"), build.Queue("w", build.DLX("x", "k"), build.Consumers(1))}
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
			assert.That(t, len(found) == 1 && found[0].Level == test.want && strings.Contains(found[0].Evidence, test.because),
				"%+v", found)
		})
	}
}

// Anything that a broker may contain, or that may disappear between two requests, causes neither a crash nor a guess.
func TestHostileTopologies(t *testing.T) {
	long := strings.Repeat("ab.", 84) + "abc" // 255 bytes
	words := strings.TrimSuffix(strings.Repeat("a.", 100), ".")
	crowd := []build.Part{
		build.Exchange("topic", "x"), build.Queue("q", build.DLX("x"), build.TTL(1000)), build.Queue("w", build.Consumers(1)),
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
			build.Exchange("direct", "x"), build.Queue("q", build.DLX("x"), build.TTL(1)),
			build.Bind("x", "q", "gone"), build.BindExchange("x", "q", "gone too"), build.Bind("gone as well", "", "q"),
		},
		"arguments of the wrong type": {build.Quorum("q", build.Argument("x-message-ttl", "1000"),
			build.Argument("x-max-length", true), build.Argument("x-dead-letter-exchange", int64(7)),
			build.Argument("x-expires", []any{}), build.Argument("x-overflow", model.Table{}),
			build.Argument("x-delivery-limit", 1.5))},
		"a negative TTL": {build.Queue("q", build.TTL(-1), build.DLX("x")), build.Exchange("fanout", "x")},
		"a TTL of 2^62":  {build.Queue("q", build.TTL(1<<62), build.DLX("")), build.Exchange("fanout", "x")},
		"patterns that cannot be read": {build.Queue("q"), build.UserPolicy("p", "(",
			1, model.Table{"delivery-limit": int64(1)}), build.UserPolicy("p2", "(?=a)", 1, model.Table{})},
		"an unknown type of queue": {build.Queue("q", build.OfType("x-new"), build.DLX("x"), build.TTL(5))},
		"a nameless type of x-delayed": {
			build.Exchange("x-delayed-message", "x"), build.Queue("q"), build.Bind("x", "", "q"),
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
					assert.That(t, f.Message == model.Printable(f.Message) && f.Evidence == model.Printable(f.Evidence),
						"a finding has what no terminal should get: %q, %q", f.Message, f.Evidence)
				}
			})
		}
	}
	t.Run("5,000 bindings lead to the worker", func(t *testing.T) {
		r := build.TopologyOf("3.10.8", crowd...).Route("/", "x", []string{"k.4711.a.b"}, nil)
		assert.That(t, len(r.Queues) == 1 && r.Exact, "%+v", r)
	})
	t.Run("a TTL as text is no TTL", func(t *testing.T) {
		s := build.TopologyOf("3.10.8",
			tests["arguments of the wrong type"]...).Settings(build.Ref("q"))
		assert.That(t, !s.TTL.Set && !s.DLX.Set && !s.MaxLength.Set && !s.DeliveryLimit.Set, "%+v", s)
	})
}
