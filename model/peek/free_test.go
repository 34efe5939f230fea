package peek

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// The policy that lifts a delivery limit repeats what the present one says, and comes before it. There is none where no
// policy helps.
func TestFreeing(t *testing.T) {
	operator := func(q *model.Queue) { q.OperatorPolicy = "ops" }
	limiting := func(s *model.Snapshot) {
		s.Policies = append(s.Policies, model.Policy{
			VHost: "/", Name: "ops", Operator: true, Definition: model.Table{"delivery-limit": int64(20)},
		})
	}

	type expected struct {
		Name, Version string
		Queues        []string
		Parts         []build.Part
		Commands      []string
		Whys          []string
	}

	for _, c := range append(must.Cases[expected](t, "testdata/freeing.toml"), []expected{
		{
			"an operator policy", "4.0.5",
			[]string{"a"},
			[]build.Part{build.Quorum("a", operator), limiting},
			[]string{""},
			[]string{"operator policy ops sets its delivery limit, and no other policy lifts that"},
		},
		{
			"a name that cannot be typed", "4.0.5",

			[]string{"a\nb"},
			[]build.Part{build.Quorum("a\nb")},
			[]string{""},
			[]string{"its name cannot be typed"},
		},
	}...) {
		var commands, whys []string
		for _, f := range Freeing(build.TopologyOf(c.Version, c.Parts...), build.Refs(c.Queues...)) {
			commands = append(commands, f.Command)
			whys = append(whys, f.Why)
		}

		assert.List(t, commands, c.Commands, c.Name)
		assert.List(t, whys, c.Whys, c.Name)
	}
}

// Whether a queue may still have what was read of it.
func TestMayHold(t *testing.T) {
	read := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name      string
		ready     int64
		consumers model.Opt[int64]
		after     time.Duration // of the look, in which the queue was counted
		may       bool
	}{
		{"as then", 5, build.Some(0), time.Minute, true},
		{"more came", 9, build.Some(0), time.Minute, true},
		{"fewer are left", 4, build.Some(0), time.Minute, false},
		{"fewer, counted during the look", 0, build.Some(0), time.Second, true},
		{"consumers", 5, build.Some(1), time.Minute, false},
		{"the look's own consumer", 5, build.Some(1), time.Second, true},
		{"consumers unknown", 5, model.Opt[int64]{}, time.Minute, false},
	} {
		p := Peeked{TakenAt: read, Depth: build.Some(5)}
		q := model.Queue{Ready: model.Some(c.ready), Consumers: c.consumers, CountedAt: read.Add(c.after)}
		assert.Equal(t, p.MayHold(&q), c.may, c.name)
	}
}
