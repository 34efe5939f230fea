package model

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExits(t *testing.T) {
	tests := []struct {
		name    string
		version string
		parts   []part
		want    []string
	}{
		{"no dead-letter exchange", "3.10.8", []part{queue("q")}, []string{"expired lost []", "rejected lost []"}},
		{"a limit too", "3.10.8", []part{queue("q", argument("x-max-length", int64(3)))}, []string{"expired lost []", "rejected lost []", "maxlen lost []"}},
		{"a limit that refuses", "3.10.8", []part{queue("q", argument("x-max-length", int64(3)), argument("x-overflow", "reject-publish"))}, []string{"expired lost []", "rejected lost []"}},
		{"a delivery limit by default", "4.0.5", []part{queue("q", ofType(Quorum))}, []string{"expired lost []", "rejected lost []", "delivery_limit lost []"}},
		{"a policy nobody knows yet", "4.0.5", []part{queue("q", func(q *Queue) { q.PolicyDefinition = nil })}, []string{"expired unclear []", "rejected unclear []"}},
		{"it arrives", "3.10.8", []part{queue("q", dlx(""), deadKey("w")), queue("w")}, []string{"expired arrives [w]", "rejected arrives [w]"}},
		{"it may arrive", "3.10.8", []part{queue("q", dlx("x")), exchange("direct", "x"), bind("x", "q", "w"), queue("w")}, []string{"expired arrives [w]", "rejected arrives [w]"}},
		{"a missing exchange", "3.10.8", []part{queue("q", dlx("nope"))}, []string{"expired lost []", "rejected lost []"}},
		{"at least once keeps it", "4.0.5", []part{queue("q", ofType(Quorum), dlx("nope"), argument("x-dead-letter-strategy", "at-least-once"), argument("x-overflow", "reject-publish"), argument("x-delivery-limit", int64(-1)))}, []string{"expired held []", "rejected held []"}},
		{"at least once falls back", "4.0.5", []part{queue("q", ofType(Quorum), dlx("nope"), argument("x-dead-letter-strategy", "at-least-once"), argument("x-delivery-limit", int64(-1)))}, []string{"expired lost []", "rejected lost []"}},
		{"a retry loop", "3.10.8", []part{queue("q", dlx(""), deadKey("b")), queue("b", dlx(""), deadKey("q"), ttl(10))}, []string{"expired cut [b]", "rejected endless [b]"}},
		{"back to itself", "3.10.8", []part{queue("q", dlx(""), deadKey("q"), ttl(10))}, []string{"expired cut [q]", "rejected endless [q]"}},
		{"a loop past somebody who consumes", "3.10.8", []part{queue("q", dlx(""), deadKey("b")), queue("b", dlx(""), deadKey("q"), ttl(10), consumers(1))}, []string{"expired arrives [b]", "rejected arrives [b]"}},
		{"a loop that does not pass it", "3.10.8", []part{queue("q", dlx(""), deadKey("b")), queue("b", dlx(""), deadKey("c"), ttl(10)), queue("c", dlx(""), deadKey("b"), ttl(10))}, []string{"expired arrives [b]", "rejected arrives [b]"}},
		{"delayed retry", "4.3.6", []part{queue("q", ofType(Quorum), argument("x-delayed-retry-type", "all"), argument("x-delivery-limit", int64(-1)))}, []string{"expired lost []", "rejected lost []", "delayed_retry retried [q]"}},
		{"delayed retry before 4.3", "4.0.5", []part{queue("q", ofType(Quorum), argument("x-delayed-retry-type", "all"), argument("x-delivery-limit", int64(-1)))}, []string{"expired lost []", "rejected lost []"}},
		{"a stream", "4.0.5", []part{queue("q", ofType(Stream))}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range topologyOf(test.version, test.parts...).Exits(ref("q")) {
				got = append(got, fmt.Sprintf("%s %s %v", e.Reason, e.Fate, e.Route.Queues))
				if e.Why == "" && (e.Fate != Arrives || !e.Route.Exact) {
					t.Errorf("%s: no reason for %s", e.Reason, e.Fate)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
