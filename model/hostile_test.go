package model

import (
	"fmt"
	"strings"
	"testing"
)

// What a broker may hold, and what may go between two requests, is looked at without a crash and without a guess.
func TestHostileTopologies(t *testing.T) {
	long := strings.Repeat("ab.", 84) + "abc" // 255 bytes
	words := strings.TrimSuffix(strings.Repeat("a.", 100), ".")
	crowd := []part{exchange("topic", "x"), queue("q", dlx("x"), ttl(1000)), queue("w", consumers(1))}
	for i := range 5000 {
		crowd = append(crowd, bind("x", fmt.Sprintf("k.%d.#", i), "w"))
	}
	tests := map[string][]part{
		"5,000 bindings on one exchange": crowd,
		"a key of 255 bytes":             {exchange("topic", "x"), queue("q", dlx("x"), deadKey(long), ttl(1)), queue("w"), bind("x", "#."+long[:200]+".#", "w")},
		"a key of 100 words":             {exchange("topic", "x"), queue("q", dlx("x"), deadKey(words), ttl(1)), queue("w"), bind("x", strings.Repeat("#.a.", 20)+"b", "w")},
		"bindings to what is gone":       {exchange("direct", "x"), queue("q", dlx("x"), ttl(1)), bind("x", "q", "gone"), bindExchange("x", "q", "gone too"), bind("gone as well", "", "q")},
		"arguments of the wrong type": {queue("q", argument("x-message-ttl", "1000"), argument("x-max-length", true), argument("x-dead-letter-exchange", int64(7)),
			argument("x-expires", []any{}), argument("x-overflow", Table{}), argument("x-delivery-limit", 1.5), ofType(Quorum))},
		"a negative TTL":               {queue("q", ttl(-1), dlx("x")), exchange("fanout", "x")},
		"a TTL of 2^62":                {queue("q", ttl(1<<62), dlx("")), exchange("fanout", "x")},
		"patterns nobody can read":     {queue("q"), userPolicy("p", "(", 1, Table{"delivery-limit": int64(1)}), userPolicy("p2", "(?=a)", 1, Table{})},
		"an unknown type of queue":     {queue("q", ofType("x-new"), dlx("x"), ttl(5))},
		"a nameless type of x-delayed": {exchange("x-delayed-message", "x"), queue("q"), bind("x", "", "q")},
		"a queue that is its own DLX":  {queue("q", dlx(""), deadKey("q"), ttl(5))},
		"hostile names":                {exchange("fanout", "\x1b[2J"), queue("q\u202egnp\x00", dlx("\x1b[2J"), ttl(5)), bind("\x1b[2J", "\r\n", "q\u202egnp\x00")},
	}
	for name, parts := range tests {
		for _, version := range []string{"3.10.8", "4.3.6", ""} {
			t.Run(name+" "+version, func(t *testing.T) {
				topology := topologyOf(version, parts...)
				for _, q := range topology.Snapshot.Queues {
					topology.Exits(q.QueueRef)
					topology.PlanPeek(q.QueueRef, PeekWant{})
				}
				for _, f := range topology.Findings() {
					if f.Message != Printable(f.Message) || f.Evidence != Printable(f.Evidence) {
						t.Errorf("a finding has what no terminal should get: %q, %q", f.Message, f.Evidence)
					}
				}
			})
		}
	}
	t.Run("5,000 bindings lead to the worker", func(t *testing.T) {
		r := topologyOf("3.10.8", crowd...).Route("/", "x", []string{"k.4711.a.b"}, nil)
		if len(r.Queues) != 1 || !r.Exact {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a TTL as text is no TTL", func(t *testing.T) {
		if s := topologyOf("3.10.8", tests["arguments of the wrong type"]...).Settings(ref("q")); s.TTL.Set || s.DLX.Set || s.MaxLength.Set || s.DeliveryLimit.Set {
			t.Errorf("%+v", s)
		}
	})
}
