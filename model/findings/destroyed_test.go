package findings

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/loss"
)

func TestDestroyed(t *testing.T) {
	type expected struct {
		Name, Queues   string
		Counts         []destroyedCase
		Findings, Says string
		Lacks          string
	}
	must.Run(t, "testdata/destroyed.toml", func(t *testing.T, test expected) {
		s := build.Broker("4.0.5", build.Text(test.Queues))
		for q := range model.Each(s.Queues) {
			q.Node = "n1"
		}

		var earlier, counts []loss.Destroyed
		for _, c := range test.Counts {
			before, now := c.counts()
			earlier, counts = append(earlier, before), append(counts, now)
		}

		topology := model.NewTopology(s)
		found := Sort(Destroyed(topology, Of(topology), loss.Since(earlier, counts)))
		var places, evidence []string
		for _, f := range found {
			places = append(places, strings.Join([]string{string(f.Level), f.Code, f.Node + f.Queue}, " "))
			evidence = append(evidence, f.Evidence)
		}
		assert.Equal(t, strings.Join(places, "; "), test.Findings)
		assert.Contains(t, strings.Join(evidence, "\n"), test.Says)
		if test.Lacks != "" {
			assert.Lacks(t, strings.Join(evidence, "\n"), test.Lacks)
		}
	})
}

// destroyedCase is what a node counts, at first and some seconds later.
type destroyedCase struct {
	Node, Unknown string
	Type          model.QueueType
	Reason        model.Reason
	First, Now    int64
}

func (c *destroyedCase) counts() (first, now loss.Destroyed) {
	now = loss.Destroyed{Node: c.Node, Unknown: c.Unknown, Type: c.Type, Reason: c.Reason}
	first = now
	if c.Unknown == "" {
		first.Messages, now.Messages = model.Some(c.First), model.Some(c.Now)
	}
	return first, now
}
