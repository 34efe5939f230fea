package policing_test

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/policing"
)

// Where the policies contradict what statistics say of a queue, the policies hold: statistics are late.
func TestPoliciesNow(t *testing.T) {
	type now struct {
		Name, Version string
		Policies      []model.Policy
		Reported      model.Queue
		Named         bool   // the names in reported are current
		Want          string // policy, operator policy, definition
		Behind        bool
	}

	must.Run(t, "testdata/policies.toml", func(t *testing.T, c now) {
		c.Reported.QueueRef = build.Ref("q")
		c.Reported.Type = cmp.Or(c.Reported.Type, model.Classic)
		now := policing.NewNow(c.Policies, model.BehaviourOf(model.ParseVersion(c.Version)))
		assert.Equal(t, now.Behind(&c.Reported), c.Behind)
		got := now.Applied(&c.Reported, c.Named)
		definition := fmt.Sprint(map[string]any(got.PolicyDefinition))

		if got.PolicyDefinition == nil {
			definition = "unknown"
		}

		word := func(s string) string { return map[bool]string{true: "-", false: s}[s == ""] }
		assert.Equal(t, word(got.Policy)+" "+word(got.OperatorPolicy)+" "+definition, c.Want)
	})
}
