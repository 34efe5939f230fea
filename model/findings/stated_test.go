package findings

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Roles that the configuration states for queues that are not there, twice, or without effect.
func TestMisfitRoles(t *testing.T) {
	for _, test := range []struct {
		name string
		all  []model.StatedRole
		want string
		says string
	}{
		{"it is there", []model.StatedRole{{Pattern: "w.parking", Role: model.ParkedRole}}, "", ""},
		{
			"it is not there",
			[]model.StatedRole{{Pattern: "w.parkings", Role: model.ParkedRole}},
			"warning stated-role ",
			"states the role parked of w.parkings, and there is no such queue",
		},
		{"a pattern may match nothing", []model.StatedRole{{Pattern: "*.none", Role: model.ParkedRole}}, "", ""},
		{"a vhost that is not shown", []model.StatedRole{{Pattern: "billing/x", Role: model.FailedRole}}, "", ""},
		{
			"two patterns",
			[]model.StatedRole{
				{Pattern: "*.parking", Role: model.ParkedRole},
				{Pattern: "w*", Role: model.FailedRole},
				{Pattern: "w", Role: model.WorkerRole},
			},

			"warning stated-role w.parking", "two roles of w.parking: parked counts (*.parking), not failed (w*)",
		},
		{
			"the context beats what is for all brokers", []model.StatedRole{
				{Pattern: "w.parking", Role: model.ParkedRole, Context: true}, {Pattern: "w.parking", Role: model.FailedRole},
			}, "", "",
		},
		{
			"a buffer without a worker",
			[]model.StatedRole{{Pattern: "attic", Role: model.DelayedBuffer}},
			"warning stated-role attic", "no worker is known",
		},
		{
			"nothing is found about an ignored queue", []model.StatedRole{{Pattern: "lossy", Role: model.IgnoredRole}}, "", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", build.Text(`
				queue w consumers=1
				queue w.parking
				queue attic
				queue lossy ttl=1000
			`),
				func(s *model.Snapshot) { s.Stated = model.NewStatedRoles(test.all) })
			var found []string

			said, lossy := "", false
			for _, f := range Of(topology) {
				lossy = lossy || f.Queue == "lossy"
				if f.Code == "stated-role" {
					found = append(found, string(f.Level)+" "+f.Code+" "+f.Queue)
					said = f.Message
				}
			}

			assert.Equal(t, strings.Join(found, "; "), test.want)
			assert.Contains(t, said, test.says)
			assert.Equal(t, lossy, !strings.Contains(test.name, "ignored"), "ttl-without-dlx of lossy")
		})
	}
}
