package findings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/peek"
)

// What a broker may hold, and what may go between two requests, is looked at without a crash and without a guess.
func TestHostileTopologies(t *testing.T) {
	long := strings.Repeat("ab.", 84) + "abc" // 255 bytes
	words := strings.TrimSuffix(strings.Repeat("a.", 100), ".")
	crowd := []build.Part{
		build.Exchange("topic", "x"), build.Queue("q", build.DLX("x"), build.TTL(1000)),
		build.Queue("w", build.Consumers(1)),
	}
	for i := range 5000 {
		crowd = append(crowd, build.Bind("x", fmt.Sprintf("k.%d.#", i), "w"))
	}
	tests := map[string][]build.Part{
		"5,000 bindings on one exchange": crowd,
		"a key of 255 bytes": {
			build.Exchange("topic", "x"),
			build.Queue("q", build.DLX("x"), build.DeadKey(long), build.TTL(1)), build.Queue("w"),
			build.Bind("x", "#."+long[:200]+".#", "w"),
		},
		"a key of 100 words": {
			build.Exchange("topic", "x"),
			build.Queue("q", build.DLX("x"), build.DeadKey(words), build.TTL(1)), build.Queue("w"),
			build.Bind("x", strings.Repeat("#.a.", 20)+"b", "w"),
		},
		"bindings to what is gone": {
			build.Exchange("direct", "x"), build.Queue("q", build.DLX("x"), build.TTL(1)),
			build.Bind("x", "q", "gone"), build.BindExchange("x", "q", "gone too"), build.Bind("gone as well", "", "q"),
		},
		"arguments of the wrong type": {build.Queue("q", build.Argument("x-message-ttl", "1000"),
			build.Argument("x-max-length", true), build.Argument("x-dead-letter-exchange", int64(7)),
			build.Argument("x-expires", []any{}), build.Argument("x-overflow", model.Table{}),
			build.Argument("x-delivery-limit", 1.5), build.OfType(model.Quorum))},
		"a negative TTL": {build.Queue("q", build.TTL(-1), build.DLX("x")), build.Exchange("fanout", "x")},
		"a TTL of 2^62":  {build.Queue("q", build.TTL(1<<62), build.DLX("")), build.Exchange("fanout", "x")},
		"patterns nobody can read": {build.Queue("q"), build.UserPolicy("p", "(",
			1, model.Table{"delivery-limit": int64(1)}), build.UserPolicy("p2", "(?=a)", 1, model.Table{})},
		"an unknown type of queue": {build.Queue("q", build.OfType("x-new"), build.DLX("x"), build.TTL(5))},
		"a nameless type of x-delayed": {
			build.Exchange("x-delayed-message", "x"), build.Queue("q"),
			build.Bind("x", "", "q"),
		},
		"a queue that is its own DLX": {build.Queue("q", build.DLX(""), build.DeadKey("q"), build.TTL(5))},
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
