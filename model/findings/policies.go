package findings

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about where settings come from, and settings that do nothing.

func findSkippedPolicies(t *model.Topology, found func(Finding)) {
	matcher := model.NewPolicyMatcher(t.Snapshot.Policies)
	if len(matcher) == 0 {
		return
	}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		for _, p := range matcher.PassedOver(q) {
			keys := model.UnsupportedKeys(p, q.Type)
			if len(keys) == 0 {
				continue // two policies of one priority, or a key that dlxtop does not know: no ground to stand on
			}
			f := Finding{
				Code: "policy-skipped", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
				Message: fmt.Sprintf("the policy %s has no effect on %s: a %s queue does not support %s, and "+
					"RabbitMQ then skips the whole policy",
					model.Printable(p.Name), model.Printable(q.Name), q.Type, strings.Join(keys, ", ")),
				Evidence: fmt.Sprintf("policy %s (priority %d, pattern %s) matches; applied is %s",
					model.Printable(p.Name), p.Priority, model.Printable(p.Pattern), orNone(model.Printable(q.Policy))),
				Remedy: fmt.Sprintf("remove %s from the policy, or give %s queues a policy of their own (apply-to, "+
					"or another pattern)", strings.Join(keys, ", "), q.Type),
			}
			if _, dead := p.Definition["dead-letter-exchange"]; dead && !t.Settings(q.QueueRef).DLX.Set {
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

func findShadowedPolicies(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if len(q.PolicyDefinition) == 0 || q.Type == model.Stream {
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
				Message: fmt.Sprintf("the %s of policy %s has no effect on %s: the queue was declared with "+
					"another one", name, model.Printable(q.Policy), model.Printable(q.Name)),
				Evidence: fmt.Sprintf("argument %s, policy %s; the argument wins",
					model.Printable(model.Quoted(argument)), model.Printable(model.Quoted(policy))),
				Remedy: "to let the policy decide, declare the queue again without the argument",
			})
		}
	}
}

func findKeysWithoutDLX(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if !q.NoDLX(t.Settings(q.QueueRef)) || q.Type == model.Stream {
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
			Message: fmt.Sprintf("the dead-letter key of %s has no effect: the queue has no dead-letter "+
				"exchange, so its dead letters are lost", model.Printable(q.Name)),
			Evidence: "dead-letter-routing-key " + model.Printable(model.Quoted(key)) + ", no dead-letter-exchange",
			Remedy:   `set a dead-letter-exchange too ("" is the default exchange)`,
		})
	}
}

func findAtLeastOnceFallback(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		s := t.Settings(q.QueueRef)
		if q.PolicyDefinition == nil || s.Strategy.Value != "at-least-once" || s.KeepsDeadLetters() {
			continue
		}
		missing := "overflow is " + s.Overflow.String() + ", and must be reject-publish"
		if !s.DLX.Set {
			missing = "there is no dead-letter-exchange"
		}
		found(Finding{
			Code: "at-least-once-falls-back", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message: fmt.Sprintf("dead letters of %s are not kept until they arrive, although "+
				"dead-letter-strategy asks for it", model.Printable(q.Name)),
			Evidence: "dead-letter-strategy " + s.Strategy.String() + "; " + missing +
				": the broker falls back to at-most-once with a line in its log",
			Remedy: "set overflow to reject-publish and a dead-letter-exchange",
		})
	}
}

func findNegativeDeliveryLimits(t *model.Topology, found func(Finding)) {
	if !t.Behaviour.NegativeDeliveryLimitDrops || !t.Snapshot.Overview.Version.Known() {
		return
	}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		s := t.Settings(q.QueueRef)
		if !s.DeliveryLimit.Set || s.DeliveryLimit.Value >= 0 {
			continue
		}
		found(Finding{
			Code: "delivery-limit-negative", Level: LevelError, VHost: q.VHost, Queue: q.Name,
			Message: fmt.Sprintf("%s drops or dead-letters a message at its first return: RabbitMQ %s does not "+
				"read a negative delivery limit as no limit",
				model.Printable(q.Name), t.Snapshot.Overview.Version),
			Evidence: "delivery-limit " + s.DeliveryLimit.String(),
			Remedy:   "remove the delivery-limit until the broker is 4.0 or later",
		})
	}
}

func findLeasedBuffers(t *model.Topology, found func(Finding)) {
	for i := range t.Flows() {
		var waits []model.QueueRef
		for j := range t.Flows()[i].Buffers {
			waits = append(waits, t.Flows()[i].Buffers[j].Queues()...)
		}
		for _, ref := range waits {
			s := t.Settings(ref)
			if !s.Expires.Set || t.FlowsOf(ref)[0] != &t.Flows()[i] {
				continue
			}
			f := Finding{
				Code: "buffer-expires", Level: LevelInfo, VHost: ref.VHost, Queue: ref.Name,
				Message: fmt.Sprintf("RabbitMQ deletes %s, messages included, when it is unused for %s "+
					"(publishing does not count as "+
					"use)", model.Printable(ref.Name), model.ShortDuration(s.Expires.Value)),
				Evidence: "expires " + s.Expires.String() + ", message-ttl " + s.TTL.String() +
					"; an expiring queue dead-letters nothing",
				Remedy: "declare the queue again with each publish, and set expires much longer than the TTL",
			}
			if s.TTL.Set && s.Expires.Value <= s.TTL.Value+time.Second {
				f.Level = LevelWarning
				f.Message = fmt.Sprintf("%s can be deleted before its messages are due: they are then lost",
					model.Printable(ref.Name))
			}
			found(f)
		}
	}
}
