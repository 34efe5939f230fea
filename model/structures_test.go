package model_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Structures without telling names: each with its flows, and words of the reasons for their parts.
func TestFlowsOfStructures(t *testing.T) {
	type reasons map[string]string // queue or exchange, and words of its reason
	for _, test := range []struct {
		name    string
		version string
		parts   []build.Part
		want    []string
		reasons reasons
		alone   []string
	}{
		{
			name: "a retry ladder: each level returns to the worker",
			parts: []build.Part{
				build.Exchange("direct", "ladder"), build.Queue("mail", build.Consumers(1), build.DLX("ladder", "a")),
				build.Buffer("a", "mail", 10000), build.Buffer("b", "mail", 60000), build.Buffer("c", "mail", 300000),
				build.Bind("ladder", "a", "a"), build.Bind("ladder", "b", "b"), build.Bind("ladder", "c", "c"),
			},
			want: []string{"mail: a=retry(10s, argument) b=delayed(1m, argument) c=delayed(5m, argument)"},
			reasons: reasons{
				"a":    "messages wait 10s (argument), then go to mail; retry: messages rejected by mail go here",
				"b":    "delayed: publishers fill it",
				"mail": "receives messages that expire in a, and has 1 consumer",
			},
		},
		{
			name: "a retry ladder whose names and exchange say what it is",
			parts: []build.Part{
				build.Exchange("direct", "orders.retry"), build.Queue("orders", build.Consumers(1)),
				build.Buffer("orders.10s", "orders", 10000), build.Buffer("orders.retry.60s", "orders", 60000),
				build.Bind("orders.retry", "1", "orders.10s"),
			},
			want: []string{"orders: orders.10s=retry(10s, argument) orders.retry.60s=retry(1m, argument)"},
			reasons: reasons{
				"orders.10s":       "the exchange orders.retry fills it, and is named for retries",
				"orders.retry.60s": `"retry" in its name`,
			},
		},
		{
			name: "a chain: one buffer expires into the next, and the worker rejects into the first",
			parts: []build.Part{
				build.Queue("mail", build.Consumers(1), build.DLX("", "one")), build.Buffer("one", "two", 10000),
				build.Buffer("two", "three", 60000), build.Buffer("three", "mail", 300000),
			},
			want: []string{"mail: one=retry(10s, argument) two=retry(1m, argument) three=retry(5m, argument)"},
			reasons: reasons{
				"one": "then go to two; retry: messages rejected by mail go here",
				"two": "retry: messages rejected by mail come here through other buffers", "three": "through other buffers",
			},
		},
		{
			name: "binary delay levels are one buffer with a range",
			parts: append(build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28),
				build.Endpoint("shipping", 1), build.Endpoint("billing", 1), build.Endpoint("error", 0)),
			want: []string{
				"billing: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument)",
				"shipping: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument)",
			},
			reasons: reasons{
				"nsb.v2.delay-level-00 … nsb.v2.delay-level-27": "28 queues are one delay: they have no " +
					"consumers, their TTLs double from 1s to 4y93d, and each expires into the next shorter one " +
					"(nsb.v2.delay-level-27 to nsb.v2.delay-level-00): a message waits in those that make up its " +
					"delay, at most 8y186d; 2 workers share it; delayed: publishers fill it",
				"shipping": "can receive messages that expire in nsb.v2.delay-level-00 … nsb.v2.delay-level-27, and has 1 consumer",
			},
			alone: []string{"error"},
		},
		{
			name: "delay levels with names of no convention, one after the other, through the default exchange",
			parts: []build.Part{
				build.Queue("w", build.Consumers(1)), build.Buffer("p", "q", 8000), build.Buffer("q", "r", 4000),
				build.Buffer("r", "s", 2000), build.Buffer("s", "w", 1000),
			},
			want: []string{"w: s … p=delayed(1s…15s, argument)"},
		},
		{
			name: "two buffers with doubling TTLs are two buffers",
			parts: []build.Part{
				build.Queue("w", build.Consumers(1)), build.Buffer("p", "q", 20000), build.Buffer("q", "w", 10000),
			},
			want: []string{"w: q=delayed(10s, argument) p=delayed(20s, argument)"},
		},
		{
			name: "buffers on demand, one for each delay",
			parts: []build.Part{
				build.Queue("orders", build.Consumers(1)),
				build.Buffer("orders.delay.30000", "orders", 30000, build.Argument("x-expires", int64(60000))),
				build.Buffer("orders.delay.60000", "orders", 60000, build.Argument("x-expires", int64(90000))),
				build.Buffer("orders.delay.5000", "orders", 5000, build.Argument("x-expires", int64(35000))),
			},
			want: []string{"orders: orders.delay.5000=delayed(5s, argument) orders.delay.30000=delayed(30s, " +
				"argument) orders.delay.60000=delayed(1m, argument)"},
			reasons: reasons{"orders.delay.30000": "no consumers; messages wait 30s (argument), then go to " +
				"orders; delayed: publishers fill it"},
		},
		{
			name: "one buffer shared by many workers",
			parts: []build.Part{
				build.Exchange("fanout", "all"), build.Queue("hold", build.DLX("all"), build.TTL(5000)),
				build.Queue("a", build.Consumers(1)), build.Queue("b"), build.Queue("c", build.Consumers(2)),
				build.Bind("all", "", "a"), build.Bind("all", "", "b"), build.Bind("all", "", "c"),
			},
			want: []string{"a: hold=delayed(5s, argument)", "b: hold=delayed(5s, argument)", "c: hold=delayed(5s, argument)"},
			reasons: reasons{
				"hold": "then go to a, b, c; 3 workers share it; delayed: publishers fill it",
				"b":    "receives messages that expire in hold, and has no consumers",
			},
		},
		{
			name: "one failed queue shared by many workers, by dead letters",
			parts: []build.Part{
				build.Exchange("fanout", "dead"), build.Queue("graveyard"), build.Bind("dead", "", "graveyard"),
				build.Queue("a", build.Consumers(1), build.DLX("dead")), build.Queue("b", build.Consumers(1), build.DLX("dead")),
			},
			want: []string{"a: graveyard=failed", "b: graveyard=failed"},
			reasons: reasons{
				"graveyard": "messages rejected by a end here; 2 workers share it",
				"a":         "dead-letters rejected messages to graveyard, and has 1 consumer",
			},
		},
		{
			name: "one failed queue for several workers, by name only: it belongs to none",
			parts: []build.Part{
				build.Queue("a", build.Consumers(1)), build.Queue("b", build.Consumers(1)), build.Queue("dead-letter-queue"),
			},
			alone: []string{"dead-letter-queue"},
		},
		{
			name:  "one failed queue and one worker",
			parts: []build.Part{build.Queue("orders", build.Consumers(1)), build.Queue("dead-letter-queue", build.Ready(1))},
			want:  []string{"orders: dead-letter-queue=failed"},
			reasons: reasons{
				"dead-letter-queue": "\"dead\" in its name; orders is the only worker here",
				"orders":            "is the only worker beside the failed queue dead-letter-queue",
			},
		},
		{
			name: "a failed queue of the same name, and its worker is stopped",
			parts: []build.Part{
				build.Queue("orders", build.Ready(3)), build.Queue("orders_error", build.Ready(1)),
				build.Queue("billing"), build.Queue("orders.eu"), build.Queue("lost_error"),
			},
			want:    []string{"orders: orders_error=failed"},
			alone:   []string{"lost_error"},
			reasons: reasons{"orders": "has a failed queue of the same name, and has no consumers"},
		},
		{
			name: "bindings between exchanges, and an alternate exchange",
			parts: []build.Part{
				build.Exchange("topic", "in", "alternate-exchange", "rest"), build.Exchange("fanout", "rest"),
				build.Exchange("direct", "inner"), build.Exchange("fanout", "last"),
				build.Queue("hold", build.DLX("in", "job.new"), build.TTL(1000)),
				build.Queue("w", build.Consumers(1), build.DLX("in", "lost")), build.Queue("morgue"),
				build.BindExchange("in", "job.*", "inner"), build.BindExchange("inner", "job.new", "last"),
				build.Bind("last", "", "w"), build.Bind("rest", "", "morgue"),
			},
			want:    []string{"w: hold=delayed(1s, argument) morgue=failed"},
			reasons: reasons{"morgue": "messages rejected by w end here"},
		},
		{
			name: "several vhosts: the same names are different queues",
			parts: []build.Part{
				build.Queue("w", build.Consumers(1)), build.Buffer("w.wait", "w", 1000), build.Queue("w.failed"),
				elsewhere("/b", build.Queue("w", build.Consumers(1))),
				elsewhere("/b", build.Buffer("w.retry", "w", 2000)),
				elsewhere("/c", build.Queue("w.failed")),
			},
			want:  []string{"w: w.wait=delayed(1s, argument) w.failed=failed", "w: w.retry=retry(2s, argument)"},
			alone: []string{"/c/w.failed"},
		},
		{
			name: "policies only",
			parts: []build.Part{
				build.Exchange("fanout", "dlx"), build.Exchange("fanout", "back"),
				build.Queue("w", build.Consumers(1), build.Policy("w", model.Table{"dead-letter-exchange": "dlx"})),
				build.Queue("x", build.Policy("x", model.Table{
					"dead-letter-exchange": "back",
					"message-ttl":          int64(5000),
				})), build.Bind("dlx", "", "x"), build.Bind("back", "", "w"),
			},
			want:    []string{"w: x=retry(5s, policy x)"},
			reasons: reasons{"x": "messages wait 5s (policy x), then go to w; retry: messages rejected by w go here"},
		},
		{
			name: "an exchange that delays",
			parts: []build.Part{
				build.Exchange("x-delayed-message", "later", "x-delayed-type", "topic"), build.Exchange("fanout", "orders"),
				build.BindExchange("later", "orders.#", "orders"), build.Queue("orders", build.Consumers(1)),
				build.Bind("orders", "", "orders"), build.Queue("mail", build.Consumers(1)), build.Bind("later", "mail", "mail"),
			},
			want: []string{"mail: later=delayed(per message, message)", "orders: later=delayed(per message, message)"},
			reasons: reasons{
				"later": "an exchange of type x-delayed-message: a message waits in it for its own x-delay, then " +
					"goes to mail, orders; 2 workers share it; delayed: publishers fill it",
				"mail": "receives messages that have waited in the exchange later, and has 1 consumer",
			},
		},
		{
			name: "a worker that rejects into an exchange that delays",
			parts: []build.Part{
				build.Exchange("x-delayed-message", "later", "x-delayed-type", "fanout"),
				build.Queue("w", build.Consumers(1), build.DLX("later")), build.Bind("later", "", "w"),
			},
			want:    []string{"w: later=retry(per message, message)"},
			reasons: reasons{"later": "retry: messages rejected by w go here"},
		},
		{
			name: "a quorum queue that holds its failures back", version: "4.3.6",
			parts: []build.Part{
				build.Quorum("w", build.Consumers(1), build.Argument("x-delayed-retry-type", "failed"),
					build.Argument("x-delayed-retry-min", int64(1000))),
				build.Quorum("off", build.Consumers(1), build.Argument("x-delayed-retry-type", "disabled")),
			},
			want: []string{"w: retries by itself: failed (argument)"},
			reasons: reasons{"w": "holds back messages that come back to it before the next try (delayed retry " +
				"of failed " +
				"(argument)), and has 1 consumer"},
		},
		{
			name: "streams beside queues: never a buffer, sometimes a worker",
			parts: []build.Part{
				build.Exchange("fanout", "x"), build.Queue("hold", build.DLX("x"), build.TTL(1000)),
				build.Queue("log", build.OfType(model.Stream), build.Consumers(1), build.DLX("x"), build.TTL(500)),
				build.Queue("w", build.Consumers(1)),
				build.Queue("errors", build.OfType(model.Stream)), build.Bind("x", "", "log"), build.Bind("x", "", "w"),
			},
			want: []string{"log: hold=delayed(1s, argument)", "w: hold=delayed(1s, argument)"},
		},
		{
			name:  "a circle without consumers: the one without a word of waiting is the worker",
			parts: []build.Part{build.Buffer("orders", "orders.wait", 3600000), build.Buffer("orders.wait", "orders", 10000)},
			want:  []string{"orders: orders.wait=retry(10s, argument)"},
		},
		{
			name: "circles of buffers alone, and of a queue with itself, end",
			parts: []build.Part{
				build.Buffer("p", "q", 1000), build.Buffer("q", "p", 1000), build.Buffer("self", "self", 1000),
				build.Queue("w1", build.Consumers(1), build.DLX("", "w2")),
				build.Queue("w2", build.Consumers(1), build.DLX("", "w1")),
			},
			want: []string{"w1: w2=failed", "w2: w1=failed"},
		},
		{
			name: "a queue of business that is named like a failed one, and its worker is away (c07)",
			parts: []build.Part{
				build.Exchange("topic", "tickets"), build.Queue("q.payments.approved"), build.Queue("q.refunds.rejected"),
				build.Queue("hold", build.DLX("tickets", "approved"), build.TTL(1000)),
				build.Bind("tickets", "approved", "q.payments.approved"), build.Bind("tickets", "rejected", "q.refunds.rejected"),
				build.Exchange("topic", "failures"), build.Queue("mail.dead"), build.Bind("failures", "#", "mail.dead"),
				build.Exchange("direct", "dlx"), build.Queue("w", build.DLX("dlx", "k"), build.Consumers(1)),
				build.Bind("dlx", "k", "w.late"), build.Queue("w.late"),
			},
			want:  []string{"q.payments.approved: hold=delayed(1s, argument)", "w: w.late=failed"},
			alone: []string{"mail.dead"},
		},
		{
			name: "words that are of business, too, say nothing alone",
			parts: []build.Part{
				build.Queue("orders", build.Consumers(1)), build.Queue("orders.err"), build.Queue("orders.quarantine"),
				build.Queue("mail", build.DLX("", "mail_invalid"), build.Consumers(1)), build.Queue("mail_invalid"),
				build.Queue("bills.invalid"), build.Queue("reports.fault"), build.Queue("sms.poison"),
			},
			want:  []string{"mail: mail_invalid=failed", "orders: orders.err=failed orders.quarantine=failed"},
			alone: []string{"sms.poison"},
		},
		{
			name: "a failed queue without such a name, and a worker with a TTL that is away (c38)",
			parts: []build.Part{
				build.Exchange("headers", "dead"), build.Queue("late"), build.Queue("pay.rejected"),
				build.BindHeaders("dead", "late", model.Table{"x-first-death-reason": "expired"}),
				build.BindHeaders("dead", "pay.rejected", model.Table{"x-first-death-reason": "rejected"}),
				build.Queue("pay", build.DLX("dead"), build.TTL(4000), build.Consumers(1)),
				build.Queue("ship", build.DLX("dead"), build.TTL(4000)),
			},
			want: []string{"pay: late=failed pay.rejected=failed", "ship: late=failed pay.rejected=failed"},
		},
		{
			name: "the same while all workers are away",
			parts: []build.Part{
				build.Exchange("headers", "dlx"), build.Queue("late"), build.Queue("pay.rejected"),
				build.BindHeaders("dlx", "late", model.Table{"x-first-death-reason": "expired"}),
				build.BindHeaders("dlx", "pay.rejected", model.Table{"x-first-death-reason": "rejected"}),
				build.Queue("pay", build.DLX("dlx"), build.TTL(4000)),
			},
			want: []string{"pay: late=failed pay.rejected=failed"},
		},
		{
			name: "a worker that is away, behind an exchange that is named for failures",
			parts: []build.Part{
				build.Exchange("direct", "dlx"), build.Queue("process"), build.Bind("dlx", "k", "process"),
				build.Queue("hold", build.DLX("dlx", "k"), build.TTL(4000)),
			},
			want: []string{"process: hold=delayed(4s, argument)"},
		},
		{
			name:  "a failed queue that sends its messages back later is a retry buffer",
			parts: []build.Part{build.Queue("w", build.Consumers(1)), build.Buffer("w.failed", "w", 86400000)},
			want:  []string{"w: w.failed=retry(1d, argument)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.version == "" {
				test.version = "4.0.5"
			}
			topology := build.TopologyOf(test.version, test.parts...)
			assert.NoDiff(t, cmp.Diff(test.want, build.Told(topology.Flows())))
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
			for name, words := range test.reasons {
				assert.Contains(t, got[name], words, "%s because of", name)
			}
			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
				assert.That(t, m.Reason != "", "%s without a reason", m.Queue)
			}
			assert.NoDiff(t, cmp.Diff(test.alone, alone))
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
			"one queue", parts(build.Queue("w", build.Consumers(1)), build.Buffer("b", "w", 1, build.Ready(3))),
			model.Some[int64](3),
		},
		{"unknown", parts(build.Queue("w", build.Consumers(1)), build.Buffer("b", "w", 1, unknown)), model.Unknown[int64]()},
		{
			"levels",
			parts(
				build.Queue("w", build.Consumers(1)), build.Buffer("p", "q", 8000, build.Ready(1)),
				build.Buffer("q", "r", 4000, build.Ready(2)), build.Buffer("r", "s", 2000, unknown),
				build.Buffer("s", "w", 1000, build.Ready(4)),
			),
			model.Some[int64](7),
		},
		{
			"an exchange",
			parts(
				build.Exchange("x-delayed-message", "x", "x-delayed-type", "fanout"), delayed(5),
				build.Queue("w", build.Consumers(1)), build.Bind("x", "", "w"),
			),
			model.Some[int64](5),
		},
		{
			"consumers that hold them",
			parts(
				build.Queue("w", build.Consumers(1), build.DLX("", "w.XQ")), build.Queue("w.XQ"),
				build.Queue("w.DQ", build.Consumers(1), build.DLX("", "w.XQ"), build.Ready(1), unacked(6)),
			),
			model.Some[int64](7),
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
		build.Exchange("direct", "x"), build.Queue("w", build.Consumers(1)), build.Bind("x", "k", "w"),
		build.Queue("w.failed"), build.Queue("b", build.DLX("x", "k"), build.TTL(1000)),
	}
	change := func(more ...build.Part) []build.Part { return with(structure, more...) }
	tests := map[string][]build.Part{
		"nothing":           change(),
		"a count":           change(func(s *model.Snapshot) { s.Queues[0].Ready = model.Some[int64](7) }),
		"consumers":         change(func(s *model.Snapshot) { s.Queues[0].Consumers = model.Some[int64](0) }),
		"a new queue":       change(build.Queue("c", build.TTL(5))),
		"a queue that went": change(func(s *model.Snapshot) { s.Queues = s.Queues[1:] }),
		"an argument":       change(func(s *model.Snapshot) { s.Queues[2].Arguments["x-message-ttl"] = int64(2000) }),
		"a policy": change(func(s *model.Snapshot) {
			s.Queues[0].Policy, s.Queues[0].PolicyDefinition = "p", model.Table{"message-ttl": int64(3)}
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
		"a policy's pattern": change(build.UserPolicy("p", ".*", 1, model.Table{"delivery-limit": int64(3)})),
	}
	for name, parts := range tests {
		t.Run(name, func(t *testing.T) {
			after := build.Broker("3.10.8", parts...)
			got, want := build.TopologyOf("3.10.8", structure...).Next(after), model.NewTopology(after)
			assert.NoDiff(t, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
		})
	}
}

// TestWhatAPollRepeatsIsInMemoryOnce: most of a poll is names and tables, and they rarely change.
func TestWhatAPollRepeatsIsInMemoryOnce(t *testing.T) {
	broker := func(ready int64) *model.Snapshot {
		return build.Broker("3.10.8", build.Exchange("direct", "x"), build.Queue("w", build.Consumers(1), build.Ready(ready)),
			build.Queue("b", build.DLX("x", "w"), build.TTL(1000)), build.Bind("x", "w", "w"))
	}
	first := model.NewTopology(broker(1))
	polled := broker(2)
	second := first.Next(polled)
	before, after := first.Snapshot, second.Snapshot
	assert.That(t, &before.Bindings[0] == &after.Bindings[0], "bindings are kept twice")
	for i := range before.Queues {
		kept, table := reflect.ValueOf(before.Queues[i].Arguments), reflect.ValueOf(after.Queues[i].Arguments)
		assert.That(t, kept.Pointer() == table.Pointer(), "the arguments of %s are kept twice", before.Queues[i].Name)
	}
	q, ok := second.Queue(build.Ref("w"))
	was, _ := first.Queue(build.Ref("w"))
	assert.That(t, ok && q.Ready.Or(0) == 2 && was.Ready.Or(0) == 1, "%v and %v are ready", was.Ready, q.Ready)
	assert.That(t, &polled.Bindings[0] != &after.Bindings[0], "the poll itself was changed")
}

// In a tangle of queues, each buffer belongs to dozens of flows.
func TestWhatFlowsShareIsInMemoryOnce(t *testing.T) {
	topology := model.NewTopology(build.Broker("3.10.8", build.Exchange("fanout", "x"),
		build.Queue("a", build.Consumers(1)), build.Queue("b", build.Consumers(1)),
		build.Queue("c", build.Consumers(1), build.DLX("", "later")), build.Queue("later", build.DLX("x"), build.TTL(1000)),
		build.Bind("x", "", "a"), build.Bind("x", "", "b"), build.Bind("x", "", "c")))
	flows := topology.Flows()
	must.That(t, len(flows) == 3 && len(flows[0].Buffers) == 1 && len(flows[2].Buffers) == 1, "flows %+v", flows)
	assert.That(t, flows[0].Buffers[0] == flows[1].Buffers[0], "a buffer that is the same for two workers is kept twice")
	own := flows[2].Buffers[0]
	assert.That(t, own != flows[0].Buffers[0] && own.Rejected && !flows[0].Buffers[0].Rejected,
		"for the worker whose failures it gets it is %+v", own)
}

// A flow stays when its worker stops, as long as the queues exist.
func TestRolesAreRemembered(t *testing.T) {
	at := func(consumers int64, parts ...build.Part) *model.Snapshot {
		work := build.Queue("work", build.Consumers(consumers), build.DLX("", "graveyard"))
		parts = append(parts, build.Queue("graveyard"), build.Queue("dead-letter-queue"), work)
		return build.TopologyOf("4.0.5", parts...).Snapshot
	}
	running := model.NewTopology(at(1))
	n := len(running.Flows())
	must.That(t, n == 1 && len(model.NewTopology(at(0)).Flows()) == 0, "%d flows: this does not need a memory", n)
	stopped := running.Next(at(0))
	changed := stopped.Next(at(0, build.Queue("other")))
	for name, topology := range map[string]*model.Topology{"stopped": stopped, "changed": changed} {
		flows := topology.Flows()
		assert.That(t, len(flows) == 1 && flows[0].Name == "work" && len(flows[0].Failed) == 2 &&
			strings.Contains(flows[0].Worker.Reason, "has no consumers"), "%s: %+v", name, flows)
	}
	gone := changed.Next(build.TopologyOf("4.0.5", build.Queue("graveyard")).Snapshot)
	if flows := gone.Next(at(0)).Flows(); len(flows) != 0 {
		t.Errorf("a queue that was deleted and made again: %+v", flows)
	}
}

// A new queue has no statistics: what is taken for a worker then is forgotten.
func TestUnknownConsumersMakeNoWorkers(t *testing.T) {
	at := func(settings ...build.Setting) *model.Snapshot {
		return build.TopologyOf("4.0.5", build.Exchange("headers", "dead"), build.Queue("late", settings...),
			build.Queue("pay.rejected", settings...), build.Bind("dead", "", "late"), build.Bind("dead", "", "pay.rejected"),
			build.Queue("pay", append(settings, build.DLX("dead"), build.TTL(4000))...)).Snapshot
	}
	unknown := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	flows := model.NewTopology(at(unknown)).Next(at()).Flows()
	assert.That(t, len(flows) == 1 && flows[0].Name == "pay" && len(flows[0].Failed) == 2, "%+v", flows)
}

// crowded are topologies in which each queue can reach many others. Work that visits all of them for each queue would
// be slow here.
func crowded(endpoints, services, chained int) map[string]*model.Snapshot {
	levels := build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28)
	for i := range endpoints {
		levels = append(levels, build.Endpoint(fmt.Sprintf("endpoint-%04d", i), 1))
	}
	topic := []build.Part{build.Exchange("topic", "master"), build.Exchange("topic", "dead")}
	failed := []build.Part{build.Exchange("fanout", "dead"), build.Queue("graveyard"), build.Bind("dead", "", "graveyard")}
	for i := range services {
		name := fmt.Sprintf("service-%04d", i)
		topic = append(topic,
			build.Queue(name, build.Consumers(1), build.DLX("dead")), build.Bind("master", fmt.Sprintf("event.%d.*", i), name),
			build.Queue(name+".retry", build.DLX("master"), build.TTL(30000)), build.Exchange("fanout", name+".retry"),
			build.Bind(name+".retry", "", name+".retry"),
			build.Queue(name+".failed"), build.Bind("dead", fmt.Sprintf("event.%d.*", i), name+".failed"))
		failed = append(failed, build.Queue(name, build.Consumers(1), build.DLX("dead")))
	}
	chain := []build.Part{build.Queue("w", build.Consumers(1))}
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
			for i := range topology.Flows() {
				f := &topology.Flows()[i]
				members += len(f.Buffers) + len(f.Failed)
			}
			assert.That(t, members <= 3*len(s.Queues), "%d memberships of %d queues", members, len(s.Queues))
		})
	}
}
