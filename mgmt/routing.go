package mgmt

import (
	"context"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// bindingElement is one binding of the list.
type bindingElement struct {
	VHost           string             `json:"vhost"`
	Source          string             `json:"source"`
	Destination     string             `json:"destination"`
	DestinationType string             `json:"destination_type"`
	RoutingKey      string             `json:"routing_key"`
	Arguments       field[model.Table] `json:"arguments"`
	PropertiesKey   string             `json:"properties_key"`
}

// bindings reads the bindings of the selected vhost, or of all that the user may see, without those to the default
// exchange, which every queue has. A binding may name something that no longer exists: it is kept as reported. If one
// is unreadable, nothing is known: what is said about routes must hold for all.
func (c *Client) bindings(ctx context.Context) ([]model.Binding, error) {
	bindings := []model.Binding{}
	texts := texts{}
	err := getAll(ctx, c, c.inVHost("bindings"), func(b *bindingElement) bool {
		if b.Source != "" {
			bindings = append(bindings, model.Binding{
				VHost:         texts.once(b.VHost),
				Source:        texts.once(b.Source),
				Destination:   texts.once(b.Destination),
				ToExchange:    b.DestinationType == "exchange",
				RoutingKey:    texts.once(plain(b.RoutingKey)),
				Arguments:     plainTexts(b.Arguments.value),
				PropertiesKey: texts.once(b.PropertiesKey),
			})
		}
		return !b.Arguments.odd
	})
	if err != nil {
		return nil, err
	}
	return slices.Clip(bindings), nil
}

// texts interns texts: names and keys are repeated often.
type texts map[string]string

func (t texts) once(text string) string {
	if kept, ok := t[text]; ok {
		return kept
	}
	t[text] = text
	return text
}

// policyElement is one policy or operator policy of a list.
type policyElement struct {
	VHost      string             `json:"vhost"`
	Name       string             `json:"name"`
	Pattern    string             `json:"pattern"`
	ApplyTo    string             `json:"apply-to"`
	Priority   int64              `json:"priority"`
	Definition field[model.Table] `json:"definition"`
}

// policies reads the users' policies, or the operators'. If one is unreadable, nothing is known.
func (c *Client) policies(ctx context.Context, operator bool) ([]model.Policy, error) {
	list := "policies"
	if operator {
		list = "operator-policies"
	}
	policies := []model.Policy{}
	err := getAll(ctx, c, c.inVHost(list), func(p *policyElement) bool {
		policies = append(policies, model.Policy{
			VHost: p.VHost, Name: p.Name, Pattern: p.Pattern, ApplyTo: p.ApplyTo, Priority: p.Priority,
			Definition: p.Definition.value, Operator: operator,
		})
		return !p.Definition.odd
	})
	if err != nil {
		return nil, err
	}
	return policies, nil
}

// applyDefinitions fills in the definitions of the policies that exchanges and queues name. The broker itself reports
// queues' effective definitions, but not for new queues, nor without statistics, and late: in those cases, and in a
// current list, the named policy is the best that is known, unless an operator policy is named, too: only the broker
// knows how they merge.
func applyDefinitions(s *model.Snapshot, current bool) {
	type key struct{ vhost, name string }
	definitions := map[key]model.Table{}
	for p := range model.Each(s.Policies) {
		if !p.Operator {
			definitions[key{p.VHost, p.Name}] = p.Definition
		}
	}
	for x := range model.Each(s.Exchanges) {
		if x.Policy != "" {
			x.PolicyDefinition = definitions[key{x.VHost, x.Policy}]
		}
	}
	for q := range model.Each(s.Queues) {
		if q.Policy == "" || q.OperatorPolicy != "" || q.PolicyDefinition != nil && !current {
			continue
		}
		if definition, ok := definitions[key{q.VHost, q.Policy}]; ok {
			q.PolicyDefinition = definition
		}
	}
}
