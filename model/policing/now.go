package policing

import (
	"maps"
	"reflect"

	"github.com/dlxtop/dlxtop/model"
)

// Now are the policies and operator policies as they are now. Statistics, from which a poll has the effective
// settings of queues, show a policy that was set, changed or deleted 5 to 6 s late (3.10.8, 4.0.5, 4.3.6).
type Now struct {
	byName           map[policyKey]*model.Policy
	users, operators Matcher
	unclear          map[policyKey]bool // the vhosts in which a pattern cannot be matched here
	behaviour        model.Behaviour
}

// NewNow takes all policies of a snapshot.
func NewNow(policies []model.Policy, b model.Behaviour) *Now {
	now := &Now{
		byName:    map[policyKey]*model.Policy{},
		unclear:   map[policyKey]bool{},
		behaviour: b,
		users:     NewMatcher(policies, false),
		operators: NewMatcher(policies, true),
	}

	for p := range model.Each(policies) {
		now.byName[policyKey{p.VHost, p.Name, p.Operator}] = p
		if (&matchablePolicy{Policy: p}).compile() != nil {
			now.unclear[policyKey{vhost: p.VHost, operator: p.Operator}] = true
		}
	}

	return now
}

// matching returns the policy that applies to a queue by pattern, type and priority; nil when none does. It is unsure
// where a pattern cannot be matched, or two have the same priority.
func (now *Now) matching(q *model.Queue, operator bool) (applies *model.Policy, sure bool) {
	if now.unclear[policyKey{vhost: q.VHost, operator: operator}] {
		return nil, false
	}
	list := now.users[q.VHost]
	if operator {
		list = now.operators[q.VHost]
	}

	for p := range model.Each(list) {
		switch {
		case applies != nil && p.Priority < applies.Priority:
			return applies, true
		case !p.matches(q) || len(UnsupportedKeys(p.Policy, q.Type)) > 0:
		case applies != nil:
			return nil, false
		default:
			applies = p.Policy
		}
	}

	return applies, true
}

// Behind reports whether the effective settings that a poll reported for a queue contradict the policies.
func (now *Now) Behind(q *model.Queue) bool {
	as := now.Applied(q, false)
	return as.Policy != q.Policy || as.OperatorPolicy != q.OperatorPolicy ||
		!sameDefinition(as.PolicyDefinition, q.PolicyDefinition)
}

// Applied returns a queue with the effective settings that the policies give it; named: the names that it has are
// current. Where it is unsure which policy applies, the named one does, as it is now; one that is gone leaves the
// settings unknown.
func (now *Now) Applied(reported *model.Queue, named bool) model.Queue {
	q := *reported
	user, sure := now.matching(&q, false)
	if named || !sure {
		user = now.byName[policyKey{q.VHost, q.Policy, false}]
	}

	operator, sureOperator := now.matching(&q, true)
	if !sureOperator {
		operator = now.byName[policyKey{q.VHost, q.OperatorPolicy, true}]
	}

	gone := user == nil && q.Policy != "" && (named || !sure) || operator == nil && q.OperatorPolicy != "" && !sureOperator
	if gone {
		if !named {
			q.PolicyDefinition = nil
		}
		return q
	}

	q.Policy = ""
	q.OperatorPolicy = ""
	q.PolicyDefinition = model.Table{}
	if user != nil {
		q.Policy = user.Name
		q.PolicyDefinition = user.Definition
	}

	if operator != nil {
		q.OperatorPolicy, q.PolicyDefinition = operator.Name, now.merged(q.PolicyDefinition, operator.Definition)
	}

	return q
}

// merged returns a policy's definition with an operator policy's: of two numbers the lower holds (a delivery limit: the
// higher when one is negative, from 4.0; the minimum of a delayed retry: the higher), of other values the operator's
// (3.10.8, 4.0.5, 4.3.6).
func (now *Now) merged(user, operator model.Table) model.Table {
	both := model.Table{}
	maps.Copy(both, user)
	for key, v := range operator {
		mine, number := operator.Integer(key)
		theirs, numbers := user.Integer(key)
		if number && numbers {
			higher := key == "delayed-retry-min" ||
				key == "delivery-limit" && !now.behaviour.NegativeDeliveryLimitDrops && min(mine, theirs) < 0
			if (theirs < mine) != higher {
				v = user[key]
			}
		}

		both[key] = v
	}

	return both
}

// sameDefinition compares definitions; an unknown one (nil) equals none.
func sameDefinition(a, b model.Table) bool {
	same := func(x, y any) bool { return model.SameValue(x, y) || reflect.DeepEqual(x, y) }
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, same)
}

type policyKey struct {
	vhost, name string
	operator    bool
}
