package plan

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestAccount(t *testing.T) {
	a := Account{Operation: Replay, Planned: 2*MaxProblems + 3}
	m := &message.Message{Properties: message.Properties{MessageID: "id"}, Fingerprint: message.Fingerprint{1}}
	a.Add(Moved, m, "")
	a.Add(Dropped, m, "")
	a.Add(Unsure, m, "the connection went")
	for range MaxProblems {
		a.Add(Refused, m, "full")
		a.Add(Returned, m, "no queue")
	}
	assert.That(t, a.Done() == a.Planned && !a.Complete(), "%d done, complete %v", a.Done(), a.Complete())
	assert.That(t, a.Moved == 1 && a.Dropped == 1 && a.Unknown == 1 && a.Refused == MaxProblems &&
		a.Returned == MaxProblems, "%+v", a)
	assert.That(t, len(a.Problems) == MaxProblems &&
		a.Problems[0] == (Problem{"id", message.Fingerprint{1}, Unsure, "the connection went"}), "%d problems, first %+v",
		len(a.Problems), a.Problems[0])
	done := Account{Planned: 3, Moved: 3}
	stopped := Account{Planned: 3, Moved: 3, Stopped: "on request"}
	assert.That(t, done.Complete() && !stopped.Complete(), "complete is: all done, and not stopped")
}

// warned returns warnings as sentences.
func warned(warnings []Warning) []string {
	words := make([]string, len(warnings))
	for i, w := range warnings {
		words[i] = w.Words()
	}
	return words
}

// A nack does not always refuse: a classic queue out of the nacking node's reach may have the message.
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

// warnedOf are the warnings, one per line.
func warnedOf(warnings []Warning) string { return strings.Join(warned(warnings), "\n") }

// newRun is the plan of an action, with the topology that it was made from.
func newRun(t *model.Topology, want ActionWant) *Run {
	p := New(t, want)
	run := p.On(t)
	return &run
}
