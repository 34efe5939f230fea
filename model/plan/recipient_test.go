package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// TestNackRefuses: a classic queue may be out of sight of the node that nacks, and have the message.
func TestNackRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		kind  model.QueueType
		nodes []string // nil: the user may not read them
		at    string
		want  bool
	}{
		{"the only node", model.Classic, []string{"a"}, "a", true},
		{"in a cluster", model.Classic, []string{"a", "b"}, "a", false},
		{"on the node that answers", model.Classic, nil, "a", true},
		{"on another node", model.Classic, nil, "b", false},
		{"replicated", model.Quorum, []string{"a", "b"}, "b", true},
	} {
		topology := build.TopologyOf("4.3.6", build.Queue("full",
			build.Argument("x-max-length", int32(1)), build.Argument("x-overflow", "reject-publish")))
		s := topology.Snapshot
		s.Overview.Node, s.Queues[0].Node, s.Queues[0].Type = "a", test.at, test.kind
		for _, name := range test.nodes {
			s.Nodes = append(s.Nodes, model.Node{Name: name})
		}
		r := RecipientOf(model.NewTopology(s), build.Ref("full"))
		assert.Equal(t, NackRefuses([]Recipient{r}, []model.QueueRef{r.Queue}), test.want, "%s", test.name)
	}
}
