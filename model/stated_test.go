package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// stated returns roles for all brokers, as alternating patterns and roles.
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
	type expected struct {
		Name                string
		Queues              build.Part
		Stated              [][]string
		Want, Parked, Alone []string
	}

	for _, test := range append(must.Cases[expected](t, "testdata/stated.toml"), expected{
		"in one vhost",
		func(s *model.Snapshot) {
			elsewhere("/b", build.Text("queue orders.parking ready=1"))(s)
			build.Text("queue orders consumers=1\nqueue orders.parking")(s)
		},
		[][]string{{"/b/orders.parking", "parked"}},
		[]string{"orders: orders.parking=failed"},
		[]string{"/b/orders.parking"},
		nil,
	}) {
		t.Run(test.Name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.Queues, stated(slices.Concat(test.Stated...)...))
			assert.Same(t, test.Want, build.Told(topology.Flows()))

			var parked, alone []string
			for _, ref := range topology.ParkedQueues() {
				parked = append(parked, ref.String())
				assert.That(t, !slices.Contains(topology.FailedQueues(), ref), "%s is failed, too", ref)
				assert.That(t, topology.IsFailed(ref), "messages do not rest in %s", ref)
			}

			assert.Same(t, test.Parked, parked)
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}

			assert.Same(t, test.Alone, alone)
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
	topology := build.Described("4.0.5", `
		queue graveyard ready=3
		queue empty ready=0
		queue busy ready=3 consumers=1
		queue later ready=3 ttl=1000
		queue jobs consumers=1 dlx= key=jobs.failed
		queue jobs.failed ready=3
		queue named_error ready=3
		stream log ready=3
	`)
	assert.List(t, topology.Abandoned(), build.Refs("graveyard"))

	topology = build.Described("4.0.5", "queue graveyard ready=3", stated("graveyard", "ignored"))
	assert.List(t, topology.Abandoned(), nil)
}
