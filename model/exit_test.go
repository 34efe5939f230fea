package model_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestExits(t *testing.T) {
	tests := []struct {
		name    string
		version string
		parts   []build.Part
		want    []string
	}{
		{
			"no dead-letter exchange", "3.10.8",
			[]build.Part{build.Queue("q")},
			[]string{"expired lost []", "rejected lost []"},
		},
		{
			"a limit too", "3.10.8",
			[]build.Part{build.Queue("q", build.Argument("x-max-length", int64(3)))},
			[]string{"expired lost []", "rejected lost []", "maxlen lost []"},
		},
		{
			"a limit that refuses", "3.10.8",
			[]build.Part{build.Queue("q", build.Argument("x-max-length", int64(3)),
				build.Argument("x-overflow", "reject-publish"))},
			[]string{"expired lost []", "rejected lost []"},
		},
		{
			"a delivery limit by default", "4.0.5",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum))},
			[]string{"expired lost []", "rejected lost []", "delivery_limit lost []"},
		},
		{
			"a policy nobody knows yet", "4.0.5",
			[]build.Part{build.Queue("q", func(q *model.Queue) { q.PolicyDefinition = nil })},
			[]string{"expired unclear []", "rejected unclear []"},
		},
		{
			"it arrives", "3.10.8",
			[]build.Part{build.Queue("q", build.DLX(""), build.DeadKey("w")), build.Queue("w")},
			[]string{"expired arrives [w]", "rejected arrives [w]"},
		},
		{"it may arrive", "3.10.8", []build.Part{
			build.Queue("q", build.DLX("x")), build.Exchange("direct", "x"),
			build.Bind("x", "q", "w"), build.Queue("w"),
		}, []string{"expired arrives [w]", "rejected arrives [w]"}},
		{
			"a missing exchange", "3.10.8",
			[]build.Part{build.Queue("q", build.DLX("nope"))},
			[]string{"expired lost []", "rejected lost []"},
		},
		{
			"at least once keeps it", "4.0.5",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum), build.DLX("nope"),
				build.Argument("x-dead-letter-strategy", "at-least-once"),
				build.Argument("x-overflow", "reject-publish"), build.Argument("x-delivery-limit", int64(-1)))},
			[]string{"expired held []", "rejected held []"},
		},
		{
			"at least once keeps what would come back by expiry alone", "4.0.5",
			[]build.Part{
				build.Queue("q", build.DLX(""), build.DeadKey("b"), build.TTL(10)),
				build.Queue("b", build.AtLeastOnce, build.DLX(""), build.DeadKey("q"), build.TTL(10),
					build.Argument("x-delivery-limit", int64(-1))),
			},
			[]string{"expired held [b]", "rejected endless [b]"},
		},
		{
			"at least once elsewhere keeps nothing of a circle", "4.0.5",
			[]build.Part{
				build.Queue("q", build.AtLeastOnce, build.DLX(""), build.DeadKey("b"), build.TTL(10),
					build.Argument("x-delivery-limit", int64(-1))),
				build.Queue("b", build.DLX(""), build.DeadKey("q"), build.TTL(10)),
			},
			[]string{"expired cut [b]", "rejected endless [b]"},
		},
		{
			"at least once falls back", "4.0.5",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum), build.DLX("nope"),
				build.Argument("x-dead-letter-strategy", "at-least-once"),
				build.Argument("x-delivery-limit", int64(-1)))},
			[]string{"expired lost []", "rejected lost []"},
		},
		{
			"a retry loop", "3.10.8",
			[]build.Part{
				build.Queue("q", build.DLX(""), build.DeadKey("b")),
				build.Queue("b", build.DLX(""), build.DeadKey("q"), build.TTL(10)),
			},
			[]string{"expired cut [b]", "rejected endless [b]"},
		},
		{
			"back to itself", "3.10.8",
			[]build.Part{build.Queue("q", build.DLX(""), build.DeadKey("q"), build.TTL(10))},
			[]string{"expired cut [q]", "rejected endless [q]"},
		},
		{
			"a loop past somebody who consumes", "3.10.8",
			[]build.Part{
				build.Queue("q", build.DLX(""), build.DeadKey("b")),
				build.Queue("b", build.DLX(""), build.DeadKey("q"), build.TTL(10), build.Consumers(1)),
			},
			[]string{"expired arrives [b]", "rejected arrives [b]"},
		},
		{
			"a loop that does not pass it", "3.10.8",
			[]build.Part{
				build.Queue("q", build.DLX(""), build.DeadKey("b")),
				build.Queue("b", build.DLX(""), build.DeadKey("c"), build.TTL(10)),
				build.Queue("c", build.DLX(""), build.DeadKey("b"), build.TTL(10)),
			},
			[]string{"expired arrives [b]", "rejected arrives [b]"},
		},
		{
			"delayed retry", "4.3.6",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum),
				build.Argument("x-delayed-retry-type", "all"), build.Argument("x-delivery-limit", int64(-1)))},
			[]string{"expired lost []", "rejected lost []", "delayed_retry retried [q]"},
		},
		{
			"delayed retry before 4.3", "4.0.5",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum), build.Argument("x-delayed-retry-type", "all"),
				build.Argument("x-delivery-limit", int64(-1)))},
			[]string{"expired lost []", "rejected lost []"},
		},
		{"a stream", "4.0.5", []build.Part{build.Queue("q", build.OfType(model.Stream))}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range build.TopologyOf(test.version, test.parts...).Exits(build.Ref("q")) {
				got = append(got, fmt.Sprintf("%s %s %v", e.Reason, e.Fate, e.Route.Queues))
				assert.That(t, e.Why != "" || e.Fate == model.Arrives && e.Route.Exact, "%s: no reason for %s", e.Reason, e.Fate)
			}
			assert.NoDiff(t, cmp.Diff(test.want, got))
		})
	}
}
