package mgmt

import (
	"context"
	"maps"
	"slices"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/policing"
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
	whole := true
	odd, err := getList(ctx, c, c.inVHost("bindings"), nil, func(b *bindingElement) {
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

		whole = whole && !b.Arguments.odd
	})
	if err == nil && (!whole || len(odd) > 0) {
		err = errOtherJSON
	}
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

// policies reads the users' policies, or the operators'. If one is unreadable, nothing is known.
func policies[P rabbithole.Policy | rabbithole.OperatorPolicy](
	ctx context.Context, c *Client, listIn func(*rabbithole.Client, string) ([]P, error),
) ([]model.Policy, error) {
	const columns = "vhost,name,pattern,apply-to,priority,definition"
	list, err := ask(ctx, c, columns, func(hole *rabbithole.Client) ([]P, error) { return listIn(hole, c.vhost) })
	if err == nil && list == nil {
		err = errOtherJSON
	}
	if err != nil {
		return nil, err
	}

	policies := make([]model.Policy, len(list))
	for i := range list {
		_, operator := any(list[i]).(rabbithole.OperatorPolicy)
		p := rabbithole.Policy(list[i])
		policies[i] = model.Policy{
			VHost:      p.Vhost,
			Name:       p.Name,
			Pattern:    p.Pattern,
			ApplyTo:    p.ApplyTo,
			Priority:   int64(p.Priority),
			Definition: tableOf(p.Definition),
			Operator:   operator,
		}
	}

	return policies, nil
}

// applyPolicies gives queues the settings of the policies as they are now where what was reported contradicts them:
// statistics are 5 to 6 s behind, the names of policies in a list without them are not. Where the broker confirms the
// names that it reported, a pattern is matched otherwise here: that queue is not asked about again.
func (c *Client) applyPolicies(ctx context.Context, s *model.Snapshot, current bool) {
	now := policing.NewNow(s.Policies, model.BehaviourOf(s.Overview.Version))
	otherwise := map[model.QueueRef]string{}
	if known := c.otherwise.Load(); known != nil {
		otherwise = maps.Clone(*known)
	}

	behind := map[model.QueueRef]string{} // with the names that were reported
	for q := range model.Each(s.Queues) {
		switch {
		case q.PolicyDefinition == nil: // without statistics, and its names are current
			if as := now.Applied(q, true); named(&as) != named(&model.Queue{}) {
				*q = as
			}
		case current, now.Behind(q) && otherwise[q.QueueRef] != named(q):
			behind[q.QueueRef] = named(q)
		}
	}

	if len(behind) == 0 {
		return
	}

	isBehind := func(q *model.Queue) bool { _, is := behind[q.QueueRef]; return is }
	confirmed := current || c.fill(ctx, s.Queues, isBehind) == nil
	for q := range model.Each(s.Queues) {
		if !isBehind(q) {
			continue
		}
		*q = now.Applied(q, confirmed)
		if confirmed && named(q) == behind[q.QueueRef] && now.Behind(q) {
			otherwise[q.QueueRef] = named(q)
		}
	}

	c.otherwise.Store(&otherwise)
}

// named returns the names of the policies that apply to a queue.
func named(q *model.Queue) string { return q.Policy + "\x00" + q.OperatorPolicy }

// applyDefinitions fills in the definitions of the policies that exchanges and queues name. The broker itself reports
// queues' effective definitions, but not for new queues, nor without statistics, and late: in those cases, and in a
// current list, the named policy is the best that is known, unless an operator policy is named, too, and the operator
// policies cannot be read.
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
