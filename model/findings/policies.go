package findings

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/policing"
)

// Findings about where settings come from, and about settings without effect.

func (t *checking) findSkippedPolicies(q queue) {
	for _, matcher := range []policing.Matcher{t.policies, t.operatorPolicies} {
		above, applied, _ := matcher.Others(q.Queue)
		for _, p := range above {
			keys := policing.UnsupportedKeys(p, q.Type)
			if len(keys) == 0 { // two of one priority, or an unknown key
				continue
			}
			if q.Type == model.Stream && len(keys) == len(p.Definition) {
				continue // nothing of the policy is for streams, which keep their messages and dead-letter none
			}
			needed := !q.DLX.Set && q.Type != model.Stream && !t.IsFailed(q.QueueRef)
			t.foundIn(q, skippedPolicy(q, p, applied, keys, needed))
		}
	}
}

// skippedPolicy: needed is false for a failed queue, which is better off without dead-lettering.
func skippedPolicy(q queue, p, applied *model.Policy, keys []string, needed bool) Finding {
	instead := "none"
	if applied != nil {
		instead = model.Printable(applied.Name)
	}

	f := Finding{
		Code: "policy-skipped",
		Message: spell("the %s has no effect on %s: a %s queue does not support %s, and RabbitMQ then skips the "+
			"whole policy", policyName(p), q, q.Type, strings.Join(keys, ", ")),
		Evidence: spell("%s matches; applied is %s", policyWords(p), instead),
		Remedy: spell("remove %s from the policy, or give %s queues a policy of their own (apply-to, "+
			"or another pattern)", strings.Join(keys, ", "), q.Type),
	}

	if _, dead := p.Definition["dead-letter-exchange"]; dead && needed {
		f.Level = LevelError
		f.Message += ": it has no dead-letter exchange"
	}

	return f
}

func policyName(p *model.Policy) string {
	if p.Operator {
		return "operator policy " + model.Printable(p.Name)
	}
	return "policy " + model.Printable(p.Name)
}

func policyWords(p *model.Policy) string {
	return spell("%s (priority %d, pattern %s)", policyName(p), p.Priority, p.Pattern)
}

// limits are the policy keys, other than dead-lettering, that decide how long messages stay, and how many.
var limits = []string{"message-ttl", "expires", "max-length", "max-length-bytes", "overflow", "delivery-limit"}

// findHiddenPolicies finds policy settings without effect: only one policy applies to a queue, the matching one with
// the highest priority. An operator policy is merged with it, but cannot set dead-lettering.
func (t *checking) findHiddenPolicies(q queue) {
	_, applied, below := t.policies.Others(q.Queue)
	for _, p := range below {
		exchange, leads := p.Definition.Text("dead-letter-exchange")
		key, keyed := p.Definition.Text("dead-letter-routing-key")
		lost := leads && q.NoDLX(q.Settings)
		unset := model.Without(limits, func(name string) bool {
			return p.Definition[name] == nil || q.PolicyDefinition[name] != nil || q.Arguments["x-"+name] != nil
		})

		rekeys := keyed && q.DLX.Set && !q.Key.Set
		rekeys = rekeys && (!leads || exchange == q.DLX.Value)
		// A failed queue's own policy excludes it from the general one; but not from one that brings failures back.
		returns := lost && slices.ContainsFunc(t.Route(q.VHost, exchange, []string{key}, nil).Queues, t.IsWorker)
		hides := []string{"the dead lettering"}
		switch {
		case q.Type == model.Stream, len(policing.UnsupportedKeys(p, q.Type)) > 0, t.IsFailed(q.QueueRef) && !returns:
			continue
		case lost, rekeys:
		case len(unset) > 0:
			hides = unset
		default:
			continue
		}

		f := hiddenPolicy(q, p, applied, hides)
		switch {
		case lost:
			f.Message += "; messages that it rejects or expires are lost"
			f.Evidence += ": dead-letter-exchange " + model.ExchangeName(exchange)
		case rekeys:
			f.Evidence += ": dead-letter-routing-key " + model.Printable(model.Quoted(key))
		case unset[0] == "message-ttl" && q.DLX.Set && q.Consumers.Or(1) == 0:
			f.Message += "; nothing consumes it, and what is in it does not expire"
		default:
			f.Level = LevelInfo
		}

		t.foundIn(q, f)
		break // the one that would apply next
	}
}

func hiddenPolicy(q queue, p, applied *model.Policy, hides []string) Finding {
	does := strings.Join(hides, ", ")
	return Finding{
		Code: "policy-hidden",
		Message: spell("%s of %s %s no effect on %s: %s comes first, and only one applies",
			does, policyName(p), agree(len(hides), "has", "have"), q, policyName(applied)),
		Evidence: spell("applied is %s; it hides %s", policyWords(applied), policyWords(p)),
		Remedy:   spell("add %s to %s, or let its pattern leave out %s", does, policyName(applied), q),
	}
}

func (t *checking) findShadowedPolicies(q queue) {
	if q.Type == model.Stream {
		return
	}
	for _, name := range []string{"dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy"} {
		argument, byArgument := q.Arguments.Text("x-" + name)
		policy, byPolicy := q.PolicyDefinition.Text(name)
		if !byArgument || !byPolicy || argument == policy {
			continue
		}
		t.foundIn(q, Finding{
			Code: "argument-shadows-policy",
			Message: spell("the %s of policy %s has no effect on %s: the queue was declared with "+
				"another one", name, q.Policy, q),
			Evidence: spell("argument %s, policy %s; the argument wins",
				model.Quoted(argument), model.Quoted(policy)),
		})
	}
}

func (t *checking) findKeysWithoutDLX(q queue) {
	if !q.NoDLX(q.Settings) || q.Type == model.Stream {
		return
	}
	key, ok := q.Arguments.Text("x-dead-letter-routing-key")
	if !ok {
		key, ok = q.PolicyDefinition.Text("dead-letter-routing-key")
	}
	if !ok {
		return
	}
	t.foundIn(q, Finding{
		Code: "key-without-dlx",
		Message: spell("the dead-letter key of %s has no effect: the queue has no dead-letter "+
			"exchange, so its dead letters are lost", q),
		Evidence: "dead-letter-routing-key " + model.Printable(model.Quoted(key)) + ", no dead-letter-exchange",
	})
}

func (t *checking) findAtLeastOnceFallback(q queue) {
	if q.PolicyDefinition == nil || q.Strategy.Value != "at-least-once" || q.KeepsDeadLetters() {
		return
	}
	missing := "overflow is " + q.Overflow.String() + ", and must be reject-publish"
	if !q.DLX.Set {
		missing = "there is no dead-letter-exchange"
	}

	t.foundIn(q, Finding{
		Code:    "at-least-once-falls-back",
		Message: spell("dead letters of %s are not kept until they arrive, although dead-letter-strategy asks for it", q),
		Evidence: model.Sayf("dead-letter-strategy %s; %s: the broker falls back to at-most-once with a line in its log",
			q.Strategy, missing),
	})
}

// findIgnoredOverflows finds quorum queues that drop their oldest messages although reject-publish-dlx is set (measured
// on 3.10.8, 4.0.5 and 4.3.6).
func (t *checking) findIgnoredOverflows(q queue) {
	if !q.NoRejectDLX || !q.Bounded() {
		return
	}
	lost := "the oldest go to its dead-letter exchange"
	if !q.DLX.Set {
		lost = "the oldest are lost"
	}

	t.foundIn(q, Finding{
		Code: "overflow-ignored",
		Message: spell("%s confirms what does not fit, and drops its oldest messages instead: a quorum queue treats "+
			"overflow reject-publish-dlx as drop-head; %s", q, lost),
		Evidence: spell("overflow reject-publish-dlx (%s); max-length %s, max-length-bytes %s", q.Overflow.Source,
			q.MaxLength, q.MaxBytes),
	})
}

func (t *checking) findNegativeDeliveryLimits(q queue) {
	version := t.Snapshot.Overview.Version
	if !t.Behaviour.NegativeDeliveryLimitDrops || !version.Known() || !q.DeliveryLimit.Set || q.DeliveryLimit.Value >= 0 {
		return
	}
	t.foundIn(q, Finding{
		Code: "delivery-limit-negative",
		Message: spell("%s drops or dead-letters a message at its first return: RabbitMQ %s does not read a negative "+
			"delivery limit as no limit", q, version),
		Evidence: "delivery-limit " + q.DeliveryLimit.String(),
	})
}

// findLeasedBuffers finds buffers that are deleted together with the waiting messages. A queue is in use as long as it
// has a consumer, and at each basic.get; a classic queue, but not a quorum queue, also when it is declared again
// (measured on 3.10.8, 4.0.5 and 4.3.6). Publishing does not count.
func (t *checking) findLeasedBuffers(flow *model.Flow) {
	for _, b := range flow.Buffers {
		for _, ref := range b.Queues() {
			if q := t.queue(ref); q.Expires.Set && t.FlowsOf(ref)[0] == flow {
				t.foundIn(q, leased(q))
			}
		}
	}
}

func leased(q queue) Finding {
	expires := q.Expires.Value
	f := Finding{
		Code:     "buffer-expires",
		Evidence: model.Sayf("expires %s, message-ttl %s; a queue that expires dead-letters nothing", q.Expires, q.TTL),
		Remedy:   without(q.Expires.Source, "expires"),
	}

	switch {
	case q.Type == model.Quorum:
		f.Message = spell("RabbitMQ deletes %s %s after it was declared, and what waits in it then is lost: neither "+
			"publishing nor declaring it again renews the lease of a quorum queue", q, expires)
		if q.TTL.Set && expires > q.TTL.Value {
			f.Message = spell("messages published to %s later than %s after it was declared are lost: RabbitMQ deletes "+
				"it after %s, and neither publishing nor declaring it again renews the lease of a quorum queue", q,
				expires-q.TTL.Value, expires)
		}
		f.Remedy += ", or make it a classic queue that publishers declare again before each message"
	case q.TTL.Set && expires <= q.TTL.Value+time.Second:
		f.Message = spell("%s can be deleted before its messages are due: they are then lost", q)
	default:
		f.Level = LevelInfo
		f.Message = spell("RabbitMQ deletes %s, messages included, when it is unused for %s (publishing does not "+
			"count as use)", q, expires)
		f.Remedy = "declare the queue again before each publish, with expires much longer than the TTL; else " + f.Remedy
	}

	return f
}
