package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// stated are roles for all brokers, as alternating patterns and roles.
func stated(roles ...string) build.Part {
	return func(s *model.Snapshot) {
		var all []model.StatedRole
		for pair := range slices.Chunk(roles, 2) {
			all = append(all, model.StatedRole{Pattern: pair[0], Role: model.Role(pair[1])})
		}
		s.Stated = model.NewStatedRoles(all)
	}
}

// What a user states beats all evidence, and is the reason.
func TestStatedRoles(t *testing.T) {
	orders := parts(build.Text(`
		exchange direct orders.retry
		queue orders consumers=1 dlx= key=orders.dlq
		queue orders.dlq
		buffer orders.wait orders 1000
		bind orders.retry orders.wait
		queue orders.parking ready=7
		queue attic
	`))

	for _, test := range []struct {
		name   string
		parts  []build.Part
		want   []string
		parked []string
		alone  []string // failed
	}{
		{
			"nothing is stated", orders,
			[]string{"orders: orders.wait=retry(1s, argument) orders.dlq=failed orders.parking=failed"},
			nil, nil,
		},
		{
			"a queue that is not there", with(orders, stated("nobody", "failed", "nobody.*", "parked")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.dlq=failed orders.parking=failed"},
			nil, nil,
		},

		{
			"parked by a pattern", with(orders, stated("*.parking", "parked")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.dlq=failed"},
			[]string{"orders.parking"},
			nil,
		},
		{
			"a queue that gets dead letters is parked, too", with(orders, stated("/"+"/orders.dlq", "parked")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.parking=failed"},

			[]string{"orders.dlq"},
			nil,
		},
		{
			"delayed, though an exchange named for retries fills it", with(orders, stated("orders.wait", "delayed")),
			[]string{"orders: orders.wait=delayed(1s, argument) orders.dlq=failed orders.parking=failed"},
			nil, nil,
		},
		{
			"ignored: no buffer, no failed queue", with(orders, stated("orders.wait", "ignored", "orders.p*", "ignored")),
			[]string{"orders: orders.dlq=failed"},
			nil, nil,
		},
		{
			"an ignored worker has no flow", with(orders, stated("orders", "ignored")), nil, nil,
			[]string{"orders.dlq", "orders.parking"},
		},
		{
			"failed, without any evidence", with(orders, stated("attic", "failed")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.dlq=failed orders.parking=failed"},
			nil,
			[]string{"attic"},
		},

		{
			"failed, though it is consumed", with(orders, build.Text("queue orders.late consumers=1"),
				stated("orders.late", "failed")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.dlq=failed orders.parking=failed"},
			nil,
			[]string{"orders.late"},
		},
		{
			"a worker that is named like a failed queue", with(orders, stated("orders.dlq", "worker")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.parking=failed", "orders.dlq:"},
			nil, nil,
		},
		{
			"a buffer that leads to no queue belongs to the worker of its name",
			parts(build.Text(`
				queue mail consumers=1
				queue mail.later
			`), stated("mail.later", "delayed")),
			[]string{"mail: mail.later=delayed(per message, message)"},
			nil, nil,
		},

		{
			"a buffer that is consumed", with(parts(build.Text(`
				queue w consumers=1
				queue hold consumers=1 dlx= key=w
			`)), stated("hold", "retry")),

			[]string{"w: hold=retry(per message, message)"},
			nil, nil,
		},
		{
			"a name beats a pattern, a longer pattern a shorter one",
			with(orders, stated("*", "ignored", "orders*", "worker", "orders.d*", "parked", "orders.parking", "failed",
				"orders.wait", "retry", "attic", "ignored", "orders", "worker")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.parking=failed"},
			[]string{"orders.dlq"},
			nil,
		},
		{
			"in one vhost", with(orders, elsewhere("/b", build.Text("queue orders.parking ready=1")),
				stated("/b/orders.parking", "parked")),
			[]string{"orders: orders.wait=retry(1s, argument) orders.dlq=failed orders.parking=failed"},
			[]string{"/b/orders.parking"},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			assert.NoDiff(t, cmp.Diff(test.want, build.Told(topology.Flows())))

			var parked, alone []string
			for _, ref := range topology.ParkedQueues() {
				parked = append(parked, ref.String())
				assert.That(t, !slices.Contains(topology.FailedQueues(), ref), "%s is failed, too", ref)
				assert.That(t, topology.IsFailed(ref), "messages do not rest in %s", ref)
			}

			assert.NoDiff(t, cmp.Diff(test.parked, parked))
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}

			assert.NoDiff(t, cmp.Diff(test.alone, alone))
			reasons := map[model.QueueRef]string{}
			for _, f := range topology.Flows() {
				for _, m := range slices.Concat(f.Failed, f.Parked, []model.Member{f.Worker}) {
					reasons[m.Queue] = m.Reason
				}
				for _, b := range f.Buffers {
					reasons[b.Queue] = b.Reason
				}
			}

			for ref, reason := range reasons {
				s, ok := topology.StatedRole(ref)
				assert.That(t, !ok || s.Role == model.WorkerRole || strings.Contains(reason, "stated in the configuration"),
					"%s is %s because: %s", ref, s.Role, reason)
			}
		})
	}
}

// A queue in which messages end, whatever its name: only its owner can say that these are failures.
func TestAbandoned(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Text(`
		queue graveyard ready=3
		queue empty ready=0
		queue busy ready=3 consumers=1
		queue later ready=3 ttl=1000
		queue jobs consumers=1 dlx= key=jobs.failed
		queue jobs.failed ready=3
		queue named_error ready=3
		stream log ready=3
	`))
	assert.List(t, topology.Abandoned(), build.Refs("graveyard"))

	topology = build.TopologyOf("4.0.5", build.Text("queue graveyard ready=3"), stated("graveyard", "ignored"))
	assert.List(t, topology.Abandoned(), nil)
}
