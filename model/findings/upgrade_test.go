package findings

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/upgrade"
)

func TestUpgrades(t *testing.T) {
	type upgraded struct {
		Name, From, To string
		Want           []string
		Parts          []build.Part
	}
	must.Run(t, "testdata/upgrades.toml", func(t *testing.T, test upgraded) {
		var got []string
		found := Upgrade(build.TopologyOf(test.From, test.Parts...), model.ParseVersion(test.To), upgrade.Use{})
		for _, f := range found {
			got = append(got, string(f.Level)+" "+f.Code+" "+f.Queue+f.Exchange)
		}
		must.Same(t, test.Want, got)
	})
}

func TestUpgradeOfWhatIsInUse(t *testing.T) {
	use := upgrade.Use{
		FlagsOff: []string{"khepri_db"}, Deprecated: []string{"ram_node_type"},
		Clients: []upgrade.Client{
			{Name: "a", FrameMax: 4096}, {Name: "b", FrameMax: 8192}, {Name: "c", Protocol: "AMQP 1-0"},
		},
	}

	transient := build.Queue("gone", func(q *model.Queue) { q.Durable = false })
	found := Upgrade(build.TopologyOf("4.2.0", transient), model.ParseVersion("4.3"), use)
	must.Same(t, codes(found), []string{
		"error upgrade-feature-flags ", "error upgrade-transient-queues gone", "warning upgrade-amqp10-addresses ",
		"warning upgrade-deprecated-features ",
	})
	found = Upgrade(build.TopologyOf("4.0.5"), model.ParseVersion("4.1"), use)
	must.Equal(t, len(found), 3, "%v", codes(found))
	must.Equal(t, found[1].Evidence, "frame_max 4,096: a")
}
