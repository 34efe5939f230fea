package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// under puts all queues without a policy under one, as the pattern .* does.
func under(name string, definition model.Table) build.Part {
	return func(s *model.Snapshot) {
		for q := range model.Each(s.Queues) {
			if q.Policy == "" {
				build.Policy(name, definition)(q)
			}
		}
	}
}

// A dead-letter exchange that many queues have says nothing about one of them.
func TestFailedQueuesWithADeadLetterExchange(t *testing.T) {
	all := under("dlx", model.Table{"dead-letter-exchange": "all.dlx"})
	dead := parts(build.Text(`
		exchange fanout all.dlx
		queue all.dead
		bind all.dlx all.dead
	`))
	processed := parts(
		build.Text(`
			exchange fanout all.dlx
			queue triage consumers=1
			bind all.dlx triage
		`),
	)

	day := model.Table{"dead-letter-exchange": "all.dlx", "message-ttl": int64(86_400_000)}
	for _, test := range []struct {
		name   string
		parts  []build.Part
		want   []string
		alone  []string
		reason string // of a failed queue
	}{
		{
			name: "a policy for all queues, failed queues that the application fills (d19)",
			parts: with(dead, build.Text(`
				queue orders consumers=1
				queue orders_error ready=2
				queue mail consumers=1
				queue mail.failed ready=1
			`), all),
			want: []string{"mail: all.dead=failed mail.failed=failed", "orders: all.dead=failed orders_error=failed"},

			reason: `no consumers, its dead-letter exchange all.dlx (policy dlx) is that of other queues, too, "error" in its name`,
		},
		{
			name: "the same while no worker runs",
			parts: with(dead, build.Text(`
				queue orders
				queue orders_error
				queue mail
				queue mail.failed
			`), all),
			want: []string{"mail: all.dead=failed mail.failed=failed", "orders: all.dead=failed orders_error=failed"},
		},
		{
			name: "a worker consumes what all queues dead-letter",

			parts: with(processed, build.Text(`
				queue orders consumers=1
				queue orders_error
				queue audit
			`), all),
			want: []string{"orders: orders_error=failed triage=failed"},
		},
		{
			name: "the policy has a TTL, too",
			parts: with(dead, build.Text(`
				queue orders consumers=1
				queue orders_error
			`), under("dlx", day)),
			want: []string{"orders: all.dead=failed orders_error=failed"},
		},
		{
			name: "the policy has a TTL, and a worker consumes what all queues dead-letter",
			parts: with(processed, build.Text(`
				queue orders consumers=1
				queue orders_error
			`), under("dlx", day)),

			want: []string{"orders: orders_error=failed triage=failed"},
		},
		{
			name: "every queue is declared with the same argument",
			parts: with(dead, build.Text(`
				queue jobs consumers=1 dlx=all.dlx
				queue jobs.parking-lot dlx=all.dlx
			`)),
			want: []string{"jobs: all.dead=failed jobs.parking-lot=failed"},
		},
		{
			name: "the worker has a dead-letter exchange of its own, its failed queue is under the policy",
			parts: with(dead, build.Text(`
				queue jobs consumers=1 dlx= key=morgue
				queue morgue
			`), all),
			want: []string{"jobs: morgue=failed"}, alone: []string{"all.dead"},
		},

		{
			name: "its name says nothing, only failures fill it, and all queues have the exchange",
			parts: with(dead, build.Text(`
				exchange direct graves
				queue jobs consumers=1 dlx=graves key=j
				queue graveyard
				bind graves j graveyard
				queue sms consumers=1
			`), all),
			want: []string{"jobs: graveyard=failed", "sms: all.dead=failed"},
		},
		{
			name: "two steps: the second has a failed queue of its own, and its worker is away",
			parts: parts(build.Text(`
				queue check consumers=1 dlx= key=review
				queue review dlx= key=review.dead
				queue review.dead
			`)),
			want: []string{"check: review=failed", "review: review.dead=failed"},
		},

		{
			name: "a worker that is named like a failed queue, and is away, has one of its own (c07)",
			parts: parts(build.Text(`
				exchange topic shop
				queue payments.approved consumers=1
				queue payments.rejected dlx= key=payments.rejected.dlq
				queue payments.rejected.dlq
				bind shop approved payments.approved
				bind shop rejected payments.rejected
			`)),
			want: []string{"payments.rejected: payments.rejected.dlq=failed"},
		},
		{
			name: "a policy for the error queues alone leads to an archive",
			parts: parts(build.Text(`
				queue orders consumers=1
				queue archive
				queue orders_error policy=archive,dead-letter-exchange=,dead-letter-routing-key=archive
			`)),
			want: []string{"orders: orders_error=failed"},
		},

		{
			name: "a failed queue that sends back after a while is a retry buffer, also under a policy for all",
			parts: with(dead, build.Text(`
				queue orders consumers=1
				buffer orders.dlq orders 5000
			`), all),
			want: []string{"orders: orders.dlq=retry(5s, argument) all.dead=failed"},
		},
		{
			name: "a consumer takes from a failed queue: it is not one of its own name alone",
			parts: with(dead, build.Text(`
				queue orders consumers=1
				queue orders_error consumers=1
			`), all),
			want: []string{"orders: all.dead=failed", "orders_error: all.dead=failed"},
		},
		{
			name: "a stream under the policy has no dead letters",

			parts: with(dead, build.Text(`
				queue orders consumers=1
				stream events
			`), all),
			want: []string{"orders: all.dead=failed"},
		},
		{
			name: "names of the queue come before that of the exchange which fills it",
			parts: parts(build.Text(`
				exchange direct orders.retry
				queue orders consumers=1
				buffer orders.delayed orders 10000
				bind orders.retry d orders.delayed
				buffer orders.30s orders 30000
				bind orders.retry 30 orders.30s
			`)),
			want: []string{"orders: orders.delayed=delayed(10s, argument) orders.30s=retry(30s, argument)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			assert.NoDiff(t, cmp.Diff(test.want, build.Told(topology.Flows())))

			var alone, reasons []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}

			assert.NoDiff(t, cmp.Diff(test.alone, alone))
			for _, f := range topology.Flows() {
				for _, m := range f.Failed {
					reasons = append(reasons, m.Reason)
				}
			}

			assert.Contains(t, strings.Join(reasons, "\n"), test.reason)
		})
	}
}
