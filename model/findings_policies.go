package model

import (
	"fmt"
	"strings"
	"time"
)

// Findings about where settings come from, and settings that do nothing.

func findSkippedPolicies(t *Topology, found func(Finding)) {
	matcher := newPolicyMatcher(t.Snapshot.Policies)
	if len(matcher) == 0 {
		return
	}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		for _, p := range matcher.passedOver(q) {
			keys := unsupportedKeys(p, q.Type)
			if len(keys) == 0 {
				continue // two policies of one priority, or a key that dlxtop does not know: no ground to stand on
			}
			f := Finding{
				Code: "policy-skipped", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
				Message: fmt.Sprintf("the policy %s does nothing for %s: a %s queue does not support %s, and the broker then skips the whole policy",
					Printable(p.Name), Printable(q.Name), q.Type, strings.Join(keys, ", ")),
				Evidence: fmt.Sprintf("policy %s (priority %d, pattern %s) matches; applied is %s", Printable(p.Name), p.Priority, Printable(p.Pattern), orNone(Printable(q.Policy))),
				Remedy:   fmt.Sprintf("take %s out of the policy, or give %s queues a policy of their own (apply-to, or another pattern)", strings.Join(keys, ", "), q.Type),
			}
			if _, dead := p.Definition["dead-letter-exchange"]; dead && !t.settings[q.QueueRef].DLX.Set {
				f.Level = LevelError
				f.Message += ": it has no dead-letter exchange"
			}
			found(f)
		}
	}
}

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

func findShadowedPolicies(t *Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if len(q.PolicyDefinition) == 0 || q.Type == Stream {
			continue
		}
		for _, name := range []string{"dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy"} {
			argument, byArgument := q.Arguments.Text("x-" + name)
			policy, byPolicy := q.PolicyDefinition.Text(name)
			if !byArgument || !byPolicy || argument == policy {
				continue
			}
			found(Finding{
				Code: "argument-shadows-policy", Level: LevelInfo, VHost: q.VHost, Queue: q.Name,
				Message:  fmt.Sprintf("the %s of policy %s does nothing for %s: the queue was declared with another one", name, Printable(q.Policy), Printable(q.Name)),
				Evidence: fmt.Sprintf("argument %s, policy %s; the argument wins", Printable(quoted(argument)), Printable(quoted(policy))),
				Remedy:   "leave the argument away and declare the queue anew, if the policy should decide",
			})
		}
	}
}

func findKeysWithoutDLX(t *Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if !q.noDLX(t.settings[q.QueueRef]) || q.Type == Stream {
			continue
		}
		key, ok := q.Arguments.Text("x-dead-letter-routing-key")
		if !ok {
			key, ok = q.PolicyDefinition.Text("dead-letter-routing-key")
		}
		if !ok {
			continue
		}
		found(Finding{
			Code: "key-without-dlx", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message:  fmt.Sprintf("the dead-letter key of %s does nothing: it has no dead-letter exchange, and what leaves it is lost", Printable(q.Name)),
			Evidence: "dead-letter-routing-key " + Printable(quoted(key)) + ", no dead-letter-exchange",
			Remedy:   `set a dead-letter-exchange too ("" is the default exchange)`,
		})
	}
}

func findAtLeastOnceFallback(t *Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		s := t.settings[q.QueueRef]
		if q.PolicyDefinition == nil || s.Strategy.Value != "at-least-once" || s.DLX.Set && s.Overflow.Value == "reject-publish" {
			continue
		}
		missing := "overflow is " + s.Overflow.String() + ", and must be reject-publish"
		if !s.DLX.Set {
			missing = "there is no dead-letter-exchange"
		}
		found(Finding{
			Code: "at-least-once-falls-back", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message:  fmt.Sprintf("dead letters of %s are not kept until they arrive, though dead-letter-strategy asks for it", Printable(q.Name)),
			Evidence: "dead-letter-strategy " + s.Strategy.String() + "; " + missing + ": the broker falls back to at-most-once with a line in its log",
			Remedy:   "set overflow to reject-publish and a dead-letter-exchange",
		})
	}
}

func findNegativeDeliveryLimits(t *Topology, found func(Finding)) {
	if !t.Behaviour.NegativeDeliveryLimitDrops || !t.Snapshot.Overview.Version.Known() {
		return
	}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		s := t.settings[q.QueueRef]
		if !s.DeliveryLimit.Set || s.DeliveryLimit.Value >= 0 {
			continue
		}
		found(Finding{
			Code: "delivery-limit-negative", Level: LevelError, VHost: q.VHost, Queue: q.Name,
			Message:  fmt.Sprintf("%s drops or dead-letters a message when it comes back for the first time: RabbitMQ %s does not read a negative delivery limit as none", Printable(q.Name), t.Snapshot.Overview.Version),
			Evidence: "delivery-limit " + s.DeliveryLimit.String(),
			Remedy:   "leave the delivery-limit away until the broker is 4.0 or later",
		})
	}
}

func findLeasedBuffers(t *Topology, found func(Finding)) {
	for i := range t.flows {
		var waits []QueueRef
		for j := range t.flows[i].Buffers {
			waits = append(waits, t.flows[i].Buffers[j].Queues()...)
		}
		for _, ref := range waits {
			s := t.settings[ref]
			if !s.Expires.Set || t.flowsOf[ref][0] != &t.flows[i] {
				continue
			}
			f := Finding{
				Code: "buffer-expires", Level: LevelInfo, VHost: ref.VHost, Queue: ref.Name,
				Message:  fmt.Sprintf("%s is deleted with all that waits in it when it is not used for %s, and publishing is no use", Printable(ref.Name), ShortDuration(s.Expires.Value)),
				Evidence: "expires " + s.Expires.String() + ", message-ttl " + s.TTL.String() + "; an expiring queue dead-letters nothing",
				Remedy:   "declare the queue again with each publish, and let expires be longer than the TTL by far",
			}
			if s.TTL.Set && s.Expires.Value <= s.TTL.Value+time.Second {
				f.Level = LevelWarning
				f.Message = fmt.Sprintf("%s can be deleted before what waits in it is due: messages are then lost", Printable(ref.Name))
			}
			found(f)
		}
	}
}
