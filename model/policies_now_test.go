package model_test

import (
	"fmt"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Where the policies contradict what statistics say of a queue, the policies hold: statistics are late.
func TestPoliciesNow(t *testing.T) {
	ttl := func(ms int64) model.Table { return model.Table{"message-ttl": ms} }
	user := func(name, pattern string, priority int64, definition model.Table) model.Policy {
		return model.Policy{
			VHost: "/", Name: name, Pattern: pattern, Priority: priority, Definition: definition, ApplyTo: "queues",
		}
	}

	operator := func(name string, definition model.Table) model.Policy {
		p := user(name, "^q$", 0, definition)
		p.Operator = true
		return p
	}

	for _, c := range []struct {
		name     string
		version  string
		policies []model.Policy
		reported model.Queue
		named    bool   // the names in reported are current
		want     string // policy, operator policy, definition
		behind   bool
	}{
		{
			"as reported", "4.0.5",
			[]model.Policy{user("p", "^q", 0, ttl(5))},
			model.Queue{Policy: "p", PolicyDefinition: ttl(5)},
			false, "p - map[message-ttl:5]", false,
		},
		{
			"another TTL", "4.0.5",
			[]model.Policy{user("p", "^q", 0, ttl(5))},
			model.Queue{Policy: "p", PolicyDefinition: ttl(3600)},
			false, "p - map[message-ttl:5]", true,
		},
		{
			"a new policy", "3.10.8",
			[]model.Policy{user("p", "^q", 0, ttl(5))},
			model.Queue{PolicyDefinition: model.Table{}},

			false, "p - map[message-ttl:5]", true,
		},
		{
			"a policy of a higher priority", "3.10.8",
			[]model.Policy{user("p", "^q", 0, ttl(5)), user("o", "q$", 1, ttl(9))},
			model.Queue{Policy: "p", PolicyDefinition: ttl(5)},
			false, "o - map[message-ttl:9]", true,
		},
		{"the policy is gone", "4.3.6", nil, model.Queue{Policy: "p", PolicyDefinition: ttl(5)}, false, "- - map[]", true},
		{
			"one for other queues", "4.3.6",
			[]model.Policy{user("p", "^r", 0, ttl(5))},
			model.Queue{PolicyDefinition: model.Table{}},

			false, "- - map[]", false,
		},
		{
			"one that the type does not support", "4.0.5",
			[]model.Policy{user("p", "q", 0, model.Table{"delivery-limit": int64(5), "message-ttl": int64(5)})},
			model.Queue{PolicyDefinition: model.Table{}},
			false, "- - map[]", false,
		},
		{
			"an operator policy", "4.0.5",
			[]model.Policy{user("p", "q", 0, ttl(5000)), operator("cap", ttl(1000))},
			model.Queue{Policy: "p", PolicyDefinition: ttl(5000)},
			false, "p cap map[message-ttl:1000]", true,
		},

		{
			"an operator policy that is higher", "4.0.5",
			[]model.Policy{user("p", "q", 0, ttl(500)), operator("cap", ttl(1000))},
			model.Queue{Policy: "p", OperatorPolicy: "cap", PolicyDefinition: ttl(500)},
			false,
			"p cap map[message-ttl:500]", false,
		},
		{
			"an operator policy alone", "3.10.8",
			[]model.Policy{operator("cap", ttl(1000))},
			model.Queue{PolicyDefinition: model.Table{}},
			false, "- cap map[message-ttl:1000]", true,
		},

		{
			"the operator's overflow", "4.0.5",
			[]model.Policy{
				user("p", "q", 0, model.Table{"overflow": "drop-head"}),
				operator("cap", model.Table{"overflow": "reject-publish"}),
			},
			model.Queue{},
			true, "- cap map[overflow:reject-publish]", true,
		},
		{
			"two of one priority: as it is named", "4.0.5",
			[]model.Policy{user("a", "q", 0, ttl(5)), user("b", "q", 0, ttl(9))},
			model.Queue{Policy: "b", PolicyDefinition: ttl(7)},
			false, "b - map[message-ttl:9]", true,
		},

		{
			"a pattern that Go cannot match: as it is named", "4.0.5",
			[]model.Policy{user("a", "(?<!x)q", 1, ttl(5)), user("b", "q", 0, ttl(9))},
			model.Queue{Policy: "a", PolicyDefinition: ttl(7)},
			false, "a - map[message-ttl:5]", true,
		},
		{
			"and the named one is gone: unknown", "4.0.5",
			[]model.Policy{user("a", "(?<!x)q", 1, ttl(5))},
			model.Queue{Policy: "b", PolicyDefinition: ttl(7)},
			false, "b - unknown", true,
		},

		{
			"the broker names another than is matched here", "4.0.5",
			[]model.Policy{user("a", "q", 1, ttl(5)), user("b", "q", 0, ttl(9))},
			model.Queue{Policy: "b", PolicyDefinition: ttl(9)},
			true, "b - map[message-ttl:9]", true,
		},
		{
			"named, and not read: as reported", "4.0.5", nil,
			model.Queue{Policy: "b", PolicyDefinition: ttl(9)},
			true,
			"b - map[message-ttl:9]", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.reported.QueueRef = build.Ref("q")

			c.reported.Type = model.Classic
			now := model.NewPoliciesNow(c.policies, model.BehaviourOf(model.ParseVersion(c.version)))
			assert.Equal(t, now.Behind(&c.reported), c.behind)
			got := now.Applied(&c.reported, c.named)
			definition := fmt.Sprint(map[string]any(got.PolicyDefinition))

			if got.PolicyDefinition == nil {
				definition = "unknown"
			}

			word := func(s string) string { return map[bool]string{true: "-", false: s}[s == ""] }
			assert.Equal(t, word(got.Policy)+" "+word(got.OperatorPolicy)+" "+definition, c.want)
		})
	}
}
