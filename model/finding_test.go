package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func codes(findings []Finding) []string {
	var cs []string
	for _, f := range findings {
		cs = append(cs, fmt.Sprintf("%s %s %s", f.Level, f.Code, f.Queue))
	}
	return cs
}

func TestFindings(t *testing.T) {
	tests := []struct {
		name    string
		version string
		parts   []part
		want    []string
	}{
		{"a missing DLX", "3.10.8", []part{queue("a", dlx("nope"), ttl(1000))}, []string{"error dlx-missing a"}},
		{"an unroutable key", "3.10.8", []part{exchange("direct", "x"), queue("a", dlx("x"), deadKey("k"), ttl(1000))}, []string{"error dead-letter-unroutable a"}},
		{"a default exchange with a wrong name", "3.10.8", []part{queue("a", dlx(""), deadKey("b"), ttl(1000), consumers(1))}, []string{"error dead-letter-unroutable a"}},
		{"an alternate exchange saves it", "3.10.8", []part{exchange("direct", "x", "alternate-exchange", "y"), exchange("fanout", "y"), queue("b", consumers(1)), bind("y", "", "b"), queue("a", dlx("x"), deadKey("k"), ttl(1000)), queue("b.failed")}, nil},
		{"TTL without DLX", "3.10.8", []part{queue("a", ttl(1000))}, []string{"warning ttl-without-dlx a"}},
		{"TTL without DLX, as far as known", "3.10.8", []part{queue("a", ttl(1000), func(q *Queue) { q.PolicyDefinition = nil })}, nil},
		{"a limit without DLX", "3.10.8", []part{queue("a", argument("x-max-length", int64(10)))}, []string{"warning limit-without-dlx a"}},
		{"a limit that refuses", "3.10.8", []part{queue("a", argument("x-max-length", int64(10)), argument("x-overflow", "reject-publish"))}, nil},
		{"a delivery limit without DLX", "3.10.8", []part{queue("a", ofType(Quorum), argument("x-delivery-limit", int64(3)))}, []string{"warning delivery-limit-without-dlx a"}},
		{"the default delivery limit", "4.0.5", []part{queue("a", ofType(Quorum))}, []string{"info delivery-limit-without-dlx a"}},
		{"a worker that is down", "3.10.8", append([]part{queue("w.failed")}, queue("w"), queue("w.delay", dlx(""), deadKey("w"), ttl(1000))), []string{"warning worker-without-consumers w"}},
		{"a worker that is down, with messages", "3.10.8", append([]part{queue("w.failed")}, queue("w", ready(3)), queue("w.delay", dlx(""), deadKey("w"), ttl(1000))), []string{"error worker-without-consumers w"}},
		{"rejects are lost", "3.10.8", scenarioParts["retry-queue"], []string{"warning rejects-lost RetryQueue"}},
		{"retries that nobody counts", "4.0.5", scenarioParts["pubsub"], []string{"warning republished-deaths-uncounted ucenter@user@retry"}},
		{"retries that the broker counts", "3.10.8", scenarioParts["pubsub"], nil},
		{"a buffer with consumers", "3.10.8", []part{queue("w", consumers(1)), queue("w.failed"), queue("w.delay", dlx(""), deadKey("w"), ttl(1000), consumers(1))}, []string{"warning buffer-with-consumers w.delay"}},
		{"a policy that is skipped", "3.10.8", []part{exchange("fanout", "x"), queue("a", consumers(1)), userPolicy("p", ".*", 1, Table{"delivery-limit": int64(3), "dead-letter-exchange": "x"})}, []string{"error policy-skipped a"}},
		{"a policy that is skipped for another", "3.10.8", []part{queue("a", policy("q", Table{"max-length": int64(9), "overflow": "reject-publish"})), userPolicy("p", "^a", 5, Table{"delivery-limit": int64(3)}), userPolicy("q", "", 1, Table{"max-length": int64(9), "overflow": "reject-publish"})}, []string{"warning policy-skipped a"}},
		{"a policy of lower priority", "3.10.8", []part{queue("a", policy("q", Table{"max-length": int64(9), "overflow": "reject-publish"})), userPolicy("p", "^a", 0, Table{"delivery-limit": int64(3)}), userPolicy("q", "", 1, Table{"max-length": int64(9)})}, nil},
		{"a policy for other types", "4.0.5", []part{queue("a"), userPolicy("p", ".*", 1, Table{"delivery-limit": int64(3)}, "quorum_queues")}, nil},
		{"a policy with a pattern that cannot be read", "4.0.5", []part{queue("a"), userPolicy("p", "(?<!x)a[", 1, Table{"delivery-limit": int64(3)})}, nil},
		{"an argument against the policy", "3.10.8", []part{exchange("fanout", "x"), exchange("fanout", "y"), queue("b", consumers(1)), bind("x", "", "b"), queue("a", dlx("x"), policy("p", Table{"dead-letter-exchange": "y"})), queue("b.failed")}, []string{"info argument-shadows-policy a"}},
		{"a key without DLX", "3.10.8", []part{queue("a", deadKey("k"))}, []string{"warning key-without-dlx a"}},
		{"at least once without its overflow", "4.0.5", []part{exchange("fanout", "x"), queue("dead"), bind("x", "", "dead"), queue("a", ofType(Quorum), dlx("x"), argument("x-dead-letter-strategy", "at-least-once"))}, []string{"warning at-least-once-falls-back a"}},
		{"at least once", "4.0.5", []part{exchange("fanout", "x"), queue("dead"), bind("x", "", "dead"), queue("a", ofType(Quorum), dlx("x"), argument("x-dead-letter-strategy", "at-least-once"), argument("x-overflow", "reject-publish"))}, nil},
		{"a negative delivery limit on 3.x", "3.10.8", []part{queue("a", ofType(Quorum), argument("x-delivery-limit", int64(-1)))}, []string{"error delivery-limit-negative a"}},
		{"a negative delivery limit on 4.x", "4.0.5", []part{queue("a", ofType(Quorum), argument("x-delivery-limit", int64(-1)))}, nil},
		{"a buffer with a lease", "3.10.8", []part{queue("w", consumers(1)), queue("w.failed"), queue("w.delay", dlx(""), deadKey("w"), ttl(1000), argument("x-expires", int64(60000)))}, []string{"info buffer-expires w.delay"}},
		{"a buffer with too short a lease", "3.10.8", []part{queue("w", consumers(1)), queue("w.failed"), queue("w.delay", dlx(""), deadKey("w"), ttl(10000), argument("x-expires", int64(10000)))}, []string{"warning buffer-expires w.delay"}},
		{"a target that drops its head", "3.10.8", []part{queue("w", consumers(1), argument("x-max-length", int64(5))), queue("w.failed"), queue("w.delay", dlx(""), deadKey("w"), ttl(1000))}, []string{"warning limit-without-dlx w", "warning target-drops-head w"}},
		{"dead letters that nobody takes", "4.0.5", []part{exchange("fanout", "x"), queue("dead"), bind("x", "", "dead"), queue("a", ofType(Quorum), dlx("x"), func(q *Queue) { q.DeadLettering = Some[int64](3) })}, []string{"warning dead-letters-held a"}},
		{"a failed queue with a TTL", "3.10.8", []part{queue("w", consumers(1), dlx(""), deadKey("w.failed")), queue("w.failed", ttl(1000))}, []string{"warning failed-queue-forgets w.failed"}},
		{"a failed queue with the default delivery limit", "4.0.5", []part{queue("w", consumers(1), dlx(""), deadKey("w.failed")), queue("w.failed", ofType(Quorum))}, []string{"info failed-queue-forgets w.failed"}},
		{"a circle of expiries", "3.10.8", []part{queue("a", dlx(""), deadKey("b"), ttl(1000)), queue("b", dlx(""), deadKey("a"), ttl(1000))}, []string{"error cycle-cut a"}},
		{"a way into a circle of expiries", "3.10.8", []part{queue("a", dlx(""), deadKey("b"), ttl(1000)), queue("b", dlx(""), deadKey("c"), ttl(1000)), queue("c", dlx(""), deadKey("b"), ttl(1000))}, []string{"error cycle-cut b"}},
		{"a circle past a worker", "3.10.8", []part{queue("a", dlx(""), deadKey("b"), consumers(1)), queue("b", dlx(""), deadKey("a"), ttl(1000))}, []string{"info rejected-loop a"}},
		{"nothing wrong", "4.3.6", []part{queue("a", consumers(1)), queue("b")}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			findings := topologyOf(test.version, test.parts...).Findings()
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Error(diff)
			}
			for _, f := range findings {
				if f.Message == "" || f.Evidence == "" || f.Remedy == "" || strings.Contains(f.Message, "%!") {
					t.Errorf("incomplete: %+v", f)
				}
			}
		})
	}
}
