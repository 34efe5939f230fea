package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Structures that nobody named: each with the flows it is, and words of the reasons for its parts.
func TestFlowsOfStructures(t *testing.T) {
	type reasons map[string]string // queue or exchange, and what its reason says
	for _, test := range []struct {
		name    string
		version string
		parts   []part
		want    []string
		reasons reasons
		alone   []string
	}{
		{
			name: "a retry ladder: each level returns to the worker",
			parts: []part{
				exchange("direct", "ladder"),
				queue("mail", consumers(1), dlx("ladder"), deadKey("a")),
				queue("a", dlx(""), deadKey("mail"), ttl(10000)), queue("b", dlx(""), deadKey("mail"), ttl(60000)), queue("c", dlx(""), deadKey("mail"), ttl(300000)),
				bind("ladder", "a", "a"), bind("ladder", "b", "b"), bind("ladder", "c", "c"),
			},
			want: []string{"mail: a=retry(10s, argument) b=delayed(1m, argument) c=delayed(5m, argument)"},
			reasons: reasons{
				"a": "messages wait 10s (argument), then go to mail; retry: what mail rejects goes here", "b": "delayed: publishers fill it",
				"mail": "receives what expires in a, and has 1 consumer",
			},
		},
		{
			name: "a retry ladder whose names and exchange say what it is",
			parts: []part{
				exchange("direct", "orders.retry"), queue("orders", consumers(1)),
				queue("orders.10s", dlx(""), deadKey("orders"), ttl(10000)), queue("orders.retry.60s", dlx(""), deadKey("orders"), ttl(60000)),
				bind("orders.retry", "1", "orders.10s"),
			},
			want: []string{"orders: orders.10s=retry(10s, argument) orders.retry.60s=retry(1m, argument)"},
			reasons: reasons{
				"orders.10s": "the exchange orders.retry fills it, and is named for retries", "orders.retry.60s": `its name says "retry"`,
			},
		},
		{
			name: "a chain: one buffer expires into the next, and the worker rejects into the first",
			parts: []part{
				queue("mail", consumers(1), dlx(""), deadKey("one")),
				queue("one", dlx(""), deadKey("two"), ttl(10000)), queue("two", dlx(""), deadKey("three"), ttl(60000)), queue("three", dlx(""), deadKey("mail"), ttl(300000)),
			},
			want: []string{"mail: one=retry(10s, argument) two=retry(1m, argument) three=retry(5m, argument)"},
			reasons: reasons{
				"one": "then go to two; retry: what mail rejects goes here", "two": "retry: what mail rejects comes here through other buffers", "three": "through other buffers",
			},
		},
		{
			name:  "binary delay levels are one buffer with a range",
			parts: append(delayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28), endpoint("shipping"), endpoint("billing"), endpointDown("error")),
			want: []string{
				"billing: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument)",
				"shipping: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument)",
			},
			reasons: reasons{
				"nsb.v2.delay-level-00 … nsb.v2.delay-level-27": "28 queues are one delay: nothing consumes them, their TTLs double from 1s to 4y93d, and each expires into the next shorter one (nsb.v2.delay-level-27 to nsb.v2.delay-level-00): a message waits in those that make up its delay, at most 8y186d; 2 workers share it; delayed: publishers fill it",
				"shipping": "can receive what expires in nsb.v2.delay-level-00 … nsb.v2.delay-level-27, and has 1 consumer",
			},
			alone: []string{"error"},
		},
		{
			name: "delay levels with names of nobody, one after the other, through the default exchange",
			parts: []part{
				queue("w", consumers(1)), queue("p", dlx(""), deadKey("q"), ttl(8000)), queue("q", dlx(""), deadKey("r"), ttl(4000)),
				queue("r", dlx(""), deadKey("s"), ttl(2000)), queue("s", dlx(""), deadKey("w"), ttl(1000)),
			},
			want: []string{"w: s … p=delayed(1s…15s, argument)"},
		},
		{
			name: "two buffers with doubling TTLs are two buffers",
			parts: []part{
				queue("w", consumers(1)), queue("p", dlx(""), deadKey("q"), ttl(20000)), queue("q", dlx(""), deadKey("w"), ttl(10000)),
			},
			want: []string{"w: q=delayed(10s, argument) p=delayed(20s, argument)"},
		},
		{
			name: "buffers on demand, one for each delay",
			parts: []part{
				queue("orders", consumers(1)),
				queue("orders.delay.30000", dlx(""), deadKey("orders"), ttl(30000), argument("x-expires", int64(60000))),
				queue("orders.delay.60000", dlx(""), deadKey("orders"), ttl(60000), argument("x-expires", int64(90000))),
				queue("orders.delay.5000", dlx(""), deadKey("orders"), ttl(5000), argument("x-expires", int64(35000))),
			},
			want:    []string{"orders: orders.delay.5000=delayed(5s, argument) orders.delay.30000=delayed(30s, argument) orders.delay.60000=delayed(1m, argument)"},
			reasons: reasons{"orders.delay.30000": "nothing consumes it, messages wait 30s (argument), then go to orders; delayed: publishers fill it"},
		},
		{
			name: "one buffer shared by many workers",
			parts: []part{
				exchange("fanout", "all"), queue("hold", dlx("all"), ttl(5000)), queue("a", consumers(1)), queue("b"), queue("c", consumers(2)),
				bind("all", "", "a"), bind("all", "", "b"), bind("all", "", "c"),
			},
			want:    []string{"a: hold=delayed(5s, argument)", "b: hold=delayed(5s, argument)", "c: hold=delayed(5s, argument)"},
			reasons: reasons{"hold": "then go to a, b, c; 3 workers share it; delayed: publishers fill it", "b": "receives what expires in hold, and has no consumers"},
		},
		{
			name: "one failed queue shared by many workers, by dead letters",
			parts: []part{
				exchange("fanout", "dead"), queue("graveyard"), bind("dead", "", "graveyard"),
				queue("a", consumers(1), dlx("dead")), queue("b", consumers(1), dlx("dead")),
			},
			want:    []string{"a: graveyard=failed", "b: graveyard=failed"},
			reasons: reasons{"graveyard": "what a rejects ends here; 2 workers share it", "a": "dead-letters what it rejects to graveyard, and has 1 consumer"},
		},
		{
			name:  "one failed queue for several workers, by name only: it is nobody's",
			parts: []part{queue("a", consumers(1)), queue("b", consumers(1)), queue("dead-letter-queue")},
			alone: []string{"dead-letter-queue"},
		},
		{
			name:    "one failed queue and one worker",
			parts:   []part{queue("orders", consumers(1)), queue("dead-letter-queue", ready(1))},
			want:    []string{"orders: dead-letter-queue=failed"},
			reasons: reasons{"dead-letter-queue": "its name says \"dead\" and no worker's, and orders is the only worker here", "orders": "is the only worker beside the failed queue dead-letter-queue"},
		},
		{
			name: "bindings between exchanges, and an alternate exchange",
			parts: []part{
				exchange("topic", "in", "alternate-exchange", "rest"), exchange("fanout", "rest"), exchange("direct", "inner"), exchange("fanout", "last"),
				queue("hold", dlx("in"), deadKey("job.new"), ttl(1000)), queue("w", consumers(1), dlx("in"), deadKey("lost")), queue("morgue"),
				bindExchange("in", "job.*", "inner"), bindExchange("inner", "job.new", "last"), bind("last", "", "w"), bind("rest", "", "morgue"),
			},
			want:    []string{"w: hold=delayed(1s, argument) morgue=failed"},
			reasons: reasons{"morgue": "what w rejects ends here"},
		},
		{
			name: "several vhosts: the same names are different queues",
			parts: []part{
				queue("w", consumers(1)), queue("w.wait", dlx(""), deadKey("w"), ttl(1000)), queue("w.failed"),
				elsewhere("/b", queue("w", consumers(1))), elsewhere("/b", queue("w.retry", dlx(""), deadKey("w"), ttl(2000))),
				elsewhere("/c", queue("w.failed")),
			},
			want:  []string{"w: w.wait=delayed(1s, argument) w.failed=failed", "w: w.retry=retry(2s, argument)"},
			alone: []string{"/c/w.failed"},
		},
		{
			name: "policies only",
			parts: []part{
				exchange("fanout", "dlx"), exchange("fanout", "back"),
				queue("w", consumers(1), policy("w", Table{"dead-letter-exchange": "dlx"})),
				queue("x", policy("x", Table{"dead-letter-exchange": "back", "message-ttl": int64(5000)})), bind("dlx", "", "x"), bind("back", "", "w"),
			},
			want:    []string{"w: x=retry(5s, policy x)"},
			reasons: reasons{"x": "messages wait 5s (policy x), then go to w; retry: what w rejects goes here"},
		},
		{
			name: "an exchange that delays",
			parts: []part{
				exchange("x-delayed-message", "later", "x-delayed-type", "topic"), exchange("fanout", "orders"), bindExchange("later", "orders.#", "orders"),
				queue("orders", consumers(1)), bind("orders", "", "orders"), queue("mail", consumers(1)), bind("later", "mail", "mail"),
			},
			want: []string{"mail: later=delayed(per message, message)", "orders: later=delayed(per message, message)"},
			reasons: reasons{
				"later": "an exchange of type x-delayed-message: a message waits in it for its own x-delay, then goes to mail, orders; 2 workers share it; delayed: publishers fill it",
				"mail":  "receives what has waited in the exchange later, and has 1 consumer",
			},
		},
		{
			name: "a worker that rejects into an exchange that delays",
			parts: []part{
				exchange("x-delayed-message", "later", "x-delayed-type", "fanout"), queue("w", consumers(1), dlx("later")), bind("later", "", "w"),
			},
			want:    []string{"w: later=retry(per message, message)"},
			reasons: reasons{"later": "retry: what w rejects goes here"},
		},
		{
			name: "a quorum queue that holds its failures back", version: "4.3.6",
			parts: []part{
				queue("w", ofType(Quorum), consumers(1), argument("x-delayed-retry-type", "failed"), argument("x-delayed-retry-min", int64(1000))),
				queue("off", ofType(Quorum), consumers(1), argument("x-delayed-retry-type", "disabled")),
			},
			want:    []string{"w: retries by itself: failed (argument)"},
			reasons: reasons{"w": "holds back what comes back to it before the next try (delayed retry of failed (argument)), and has 1 consumer"},
		},
		{
			name: "streams beside queues: never a buffer, sometimes a worker",
			parts: []part{
				exchange("fanout", "x"), queue("hold", dlx("x"), ttl(1000)), queue("log", ofType(Stream), consumers(1), dlx("x"), ttl(500)), queue("w", consumers(1)),
				queue("errors", ofType(Stream)), bind("x", "", "log"), bind("x", "", "w"),
			},
			want: []string{"log: hold=delayed(1s, argument)", "w: hold=delayed(1s, argument)"},
		},
		{
			name: "a circle that nobody consumes: the one without a word of waiting is the worker",
			parts: []part{
				queue("orders", dlx(""), deadKey("orders.wait"), ttl(3600000)), queue("orders.wait", dlx(""), deadKey("orders"), ttl(10000)),
			},
			want: []string{"orders: orders.wait=retry(10s, argument)"},
		},
		{
			name: "circles of buffers alone, and of a queue with itself, end",
			parts: []part{
				queue("p", dlx(""), deadKey("q"), ttl(1000)), queue("q", dlx(""), deadKey("p"), ttl(1000)), queue("self", dlx(""), deadKey("self"), ttl(1000)),
				queue("w1", consumers(1), dlx(""), deadKey("w2")), queue("w2", consumers(1), dlx(""), deadKey("w1")),
			},
			want: []string{"w1: w2=failed", "w2: w1=failed"},
		},
		{
			name: "a failed queue that sends its messages back later is a retry buffer",
			parts: []part{
				queue("w", consumers(1)), queue("w.failed", dlx(""), deadKey("w"), ttl(86400000)),
			},
			want: []string{"w: w.failed=retry(1d, argument)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			version := test.version
			if version == "" {
				version = "4.0.5"
			}
			topology := topologyOf(version, test.parts...)
			if diff := cmp.Diff(test.want, told(topology.Flows())); diff != "" {
				t.Error(diff)
			}
			got := map[string]string{}
			for _, f := range topology.Flows() {
				for _, m := range append(f.Failed, f.Worker) {
					got[m.Queue.String()] += m.Reason + "\n"
				}
				for _, b := range f.Buffers {
					got[b.Name()] += b.Reason + "\n"
					for _, ref := range b.Queues() {
						if f.Role(ref) != b.Role {
							t.Errorf("%s is %q", ref, f.Role(ref))
						}
					}
				}
			}
			for name, words := range test.reasons {
				if !strings.Contains(got[name], words) {
					t.Errorf("%s because of %q, want something with %q", name, got[name], words)
				}
			}
			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
				if m.Reason == "" {
					t.Errorf("%s without a reason", m.Queue)
				}
			}
			if diff := cmp.Diff(test.alone, alone); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWaiting(t *testing.T) {
	delayed := func(n int64) part {
		return func(s *Snapshot) { s.Exchanges[len(s.Exchanges)-1].Delayed = Some(n) }
	}
	unacked := func(n int64) setting { return func(q *Queue) { q.Unacked = Some(n) } }
	unknown := func(q *Queue) { q.Ready = Unknown[int64]() }
	for _, test := range []struct {
		name  string
		parts []part
		want  Opt[int64]
	}{
		{"one queue", []part{queue("w", consumers(1)), queue("b", dlx(""), deadKey("w"), ttl(1), ready(3))}, Some[int64](3)},
		{"unknown", []part{queue("w", consumers(1)), queue("b", dlx(""), deadKey("w"), ttl(1), unknown)}, Unknown[int64]()},
		{
			"levels", []part{
				queue("w", consumers(1)), queue("p", dlx(""), deadKey("q"), ttl(8000), ready(1)), queue("q", dlx(""), deadKey("r"), ttl(4000), ready(2)),
				queue("r", dlx(""), deadKey("s"), ttl(2000), unknown), queue("s", dlx(""), deadKey("w"), ttl(1000), ready(4)),
			}, Some[int64](7),
		},
		{"an exchange", []part{exchange("x-delayed-message", "x", "x-delayed-type", "fanout"), delayed(5), queue("w", consumers(1)), bind("x", "", "w")}, Some[int64](5)},
		{
			"consumers that hold them", []part{
				queue("w", consumers(1), dlx(""), deadKey("w.XQ")), queue("w.XQ"), queue("w.DQ", consumers(1), dlx(""), deadKey("w.XQ"), ready(1), unacked(6)),
			}, Some[int64](7),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := topologyOf("4.0.5", test.parts...)
			if got := topology.Waiting(&topology.Flows()[0].Buffers[0]); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// delayLevels are the exchanges and queues by which NServiceBus and Celery delay: level n holds messages 2^n s when their key has
// a 1 as the word of that level, and passes them on through bindings between exchanges when it is 0.
func delayLevels(name, delivery string, levels int) []part {
	parts := []part{exchange("topic", delivery)}
	words := func(level int, last string) string { return strings.Repeat("*.", levels-1-level) + last }
	for level := levels - 1; level >= 0; level-- {
		at, next := fmt.Sprintf(name, level), delivery
		if level > 0 {
			next = fmt.Sprintf(name, level-1)
		}
		parts = append(parts,
			exchange("topic", at),
			queue(at, ofType(Quorum), dlx(next), ttl(1000<<level), argument("x-overflow", "reject-publish"), argument("x-dead-letter-strategy", "at-least-once")),
			bind(at, words(level, "1.#"), at), bindExchange(at, words(level, "0.#"), next),
		)
	}
	return parts
}

// endpoint is a queue with its exchange of the same name, bound to the delays as NServiceBus does it.
func endpoint(name string) part { return endpointWith(name, 1) }

func endpointDown(name string) part { return endpointWith(name, 0) }

func endpointWith(name string, n int64) part {
	return func(s *Snapshot) {
		for _, p := range []part{
			exchange("fanout", name), queue(name, ofType(Quorum), consumers(n)), bind(name, "", name), bindExchange("nsb.v2.delay-delivery", "#."+name, name),
		} {
			p(s)
		}
	}
}

// elsewhere puts a queue into another vhost.
func elsewhere(vhost string, p part) part {
	return func(s *Snapshot) {
		p(s)
		s.Queues[len(s.Queues)-1].VHost = vhost
	}
}
