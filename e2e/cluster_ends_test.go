//go:build faults

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
)

// TestClusterEnds strikes the node that dlxtop uses, or that leads its queues, while it acts on 10,000 messages. None
// is lost, or in two places without being told, and 45 of 50 commands come to their end by themselves. DLXTOP_FULL=50
// is 50 commands, five at a time. It has a build tag of its own: it takes five minutes on each version.
func TestClusterEnds(t *testing.T) {
	nodes := startCluster(t, "net_ticktime = 15\ncluster_partition_handling = pause_minority\n")
	on := cluster{nodes: nodes, cable: &cable{to: nodes[struckNode]}}
	on.cable.lay(t)
	r := seed.Rand(t)
	var sum clusterSum
	faults, kinds := []string{"kill", "stop", "cut", "apart"}, []string{"classic", "quorum"}
	if inMnesia(nodes[0]) {
		faults = faults[:3] // quorum queues may keep messages for the consumers of a node that was apart: docs/rabbitmq.md
	}

	first := r.IntN(len(faults))
	for i := range (size.Rounds(5) + 4) / 5 {
		var these []*clusterTrial
		fault := faults[(first+i)%len(faults)]
		for _, action := range []string{"replay", "edit", "drop", "undo", "import"} {
			trial := &clusterTrial{
				action: action, n: 10_000, retries: true, uses: []int{0},
				place: []string{"source", "target", "both", "neither"}[r.IntN(4)],
				kinds: [2]string{kinds[r.IntN(2)], kinds[r.IntN(2)]},
			}

			if trial.place == "neither" || fault == "cut" || r.IntN(2) == 0 {
				trial.uses = [][]int{{struckNode, 0, 2}, {struckNode}}[r.IntN(2)]
			}
			if slices.Contains(pacedActions, action) {
				trial.rate = trial.n / 15
			}
			these = append(these, trial)
		}

		sum.strike(t, r, on, fmt.Sprint(i), fault, false, these)
	}

	t.Logf("%s; %d of %d ended by themselves", sum.words(), sum.trials-sum.struck, sum.trials)
	assert.That(t, sum.struck*50 <= sum.trials*5, "%d of %d needed a person", sum.struck, sum.trials)
}
