package findings

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about the queues that dead letters reach.

// findFullTargets finds target queues that refuse dead letters when they are full: a classic queue with reject-publish
// does, and RabbitMQ drops those; a quorum queue takes them beyond its limit (measured on 3.10.8, 4.0.5 and 4.3.6).
func (t *checking) findFullTargets() {
	type way struct {
		targets *model.QueueRef // queues with the same hop share one list of them
		keeps   bool
	}

	seen := model.QueueSet{}

	looked := map[way]bool{}
	for q := range t.EachQueue() {
		from := q.QueueRef
		hop, ok := t.Hop(from, model.Expired)
		if !ok || len(hop.Route.Queues) == 0 {
			continue
		}
		w := way{&hop.Route.Queues[0], t.Settings(from).KeepsDeadLetters()}
		if looked[w] {
			continue
		}

		looked[w] = true
		for _, ref := range hop.Route.Queues {
			q := t.queue(ref)
			drops := q.Type == model.Stream && t.Behaviour.DropsDeadLettersToStreams && !w.keeps
			refuses := q.Bounded() && q.Overflow.Value != model.DropHead
			refuses = refuses && (q.NoDLX(q.Settings) || q.Overflow.Value == model.RejectPublish)
			if seen[ref] || ref == from || !drops && !refuses {
				continue
			}
			seen[ref] = true
			switch {
			case drops:
				t.foundAt(ref, Finding{
					Code: "target-refuses", Level: LevelError,
					Message: spell("dead letters of %s to %s are lost: a stream takes none before RabbitMQ 3.11", from, q),
				})
			case q.Type == model.Classic && !w.keeps:
				t.foundAt(ref, refusal(q, hop))
			default:
				seen[ref] = false // another queue may lose what this one keeps
			}
		}
	}
}

func refusal(q queue, hop *model.Hop) Finding {
	f := Finding{
		Code: "target-refuses",
		Message: spell("dead letters of %s are lost when %s is full: a classic queue with overflow %s refuses "+
			"them, and RabbitMQ then drops them", hop.From, q, q.Overflow.Value),
		Evidence: bounds(q),
		Remedy:   roomier(q) + ", or make it a quorum queue, which takes dead letters beyond its limit",
	}

	certain := hop.Route.Exact || hop.Route.Keys == model.KeysBound && len(hop.Route.Queues) == 1
	if q.MaxLength.Set && q.Ready.Or(0) >= q.MaxLength.Value && certain {
		f.Level, f.Happening = LevelError, true
		f.Message = spell("dead letters of %s are being lost: %s is full, and a classic queue with overflow %s "+
			"refuses them", hop.From, q, q.Overflow.Value)
		f.Remedy = "make room: replay or drop messages of " + model.Printable(q.Name) + "; then " + f.Remedy
	}

	return f
}

func bounds(q queue) string {
	return spell("%s ready; max-length %s, max-length-bytes %s, overflow %s", q.Ready, q.MaxLength, q.MaxBytes, q.Overflow)
}

// roomier says how to lift a queue's limit.
func roomier(q queue) string {
	if q.MaxLength.Set {
		return without(q.MaxLength.Source, "max-length")
	}
	return without(q.MaxBytes.Source, "max-length-bytes")
}

// findFullBuffers finds buffers whose messages leave before their time, because as many come in (all versions).
func (t *checking) findFullBuffers(q queue) {
	if !q.Full(q.Queue) || !t.IsBuffer(q.QueueRef) {
		return
	}
	waited := "their time"
	if q.TTL.Set {
		waited = spell("it has waited %s", q.TTL.Value)
	}

	t.foundIn(q, Finding{
		Code:      "buffer-full",
		Happening: true,
		Message: spell("%s is full: each message that comes pushes the oldest one out, to %s, before %s", q,
			model.NamesOr(t.OverflowTargets(q.QueueRef), "no queue"), waited),
		Evidence: bounds(q),
		Remedy:   roomier(q),
	})
}

func (t *checking) findStuckDeadLetters(q queue) {
	if n := q.DeadLettering.Or(0); n > 0 {
		t.foundIn(q, Finding{
			Code:    "dead-letters-held",
			Message: spell("%s holds %v dead letter(s) that no queue has taken yet", q, n),
			Evidence: spell("messages_dlx %v, %s, reaches %s", n, deadLettering(q.Settings),
				model.NamesOr(t.RejectedTargets(q.QueueRef), "no queue")),
		})
	}
}

func (t *checking) findForgetfulFailedQueues() {
	for _, ref := range t.FailedQueues() {
		q := t.queue(ref)
		f := Finding{Code: "failed-queue-forgets"}
		if t.forgets(q, &f) {
			t.foundAt(ref, f)
		} else if !q.Durable {
			f.Level = LevelInfo
			f.Message = spell("%s is gone, failed messages included, when its node is started again", q)
			f.Evidence = "declared without durable"
			f.Remedy = "delete the queue and declare it durable"
			t.foundAt(ref, f)
		}
	}
}

// forgets fills in why a failed queue loses messages; false if it does not.
func (t *checking) forgets(q queue, f *Finding) bool {
	switch {
	case q.Type == model.Stream:
		return streamForgets(q, f)
	case q.Exclusive, q.AutoDelete:
		when := "when the last of its consumers ends"
		flag := "auto-delete"
		if q.Exclusive {
			when = "when the connection that declared it ends"
			flag = "exclusive"
		}

		f.Message = spell("RabbitMQ deletes %s, failed messages included, %s", q, when)
		f.Evidence = "declared " + flag + "; a queue that is deleted dead-letters nothing"
		f.Remedy = "delete the queue and declare it durable, and not " + flag
	case q.Expires.Set && q.Consumers.Or(1) == 0:
		f.Message = spell("RabbitMQ deletes %s, failed messages included, when it is unused for %s; dead letters "+
			"do not count as use", q, q.Expires.Value)
		f.Evidence = spell("expires %s, 0 consumers; a queue that expires dead-letters nothing", q.Expires)
		f.Remedy = without(q.Expires.Source, "expires")
	case !q.NoDLX(q.Settings):
		return false
	case q.TTL.Set:
		f.Message = spell("failed messages in %s are lost after %s", q, q.TTL.Value)
		f.Evidence = spell("message-ttl %s, no dead-letter-exchange", q.TTL)
		f.Remedy = without(q.TTL.Source, "message-ttl") + "; until then, replay or drop before it ends"
		if q.TTL.Value == 0 {
			f.Level = LevelError
		}
	case q.DropsHead():
		f.Message = spell("failed messages in %s are lost when it is full: the oldest go first", q)
		f.Evidence = bounds(q)
		f.Remedy = roomier(q)

		if q.Type == model.Quorum { // a classic queue would refuse dead letters, which are then dropped
			f.Remedy += ", or set overflow to reject-publish by policy: a quorum queue takes dead letters beyond its limit"
		}
	case q.DeliveryLimit.Set && q.DeliveryLimit.Value >= 0:
		f.Message = spell("failed messages in %s are lost after they were looked at %v time(s)", q, q.DeliveryLimit.Value)
		f.Evidence = spell("delivery-limit %s, no dead-letter-exchange; each look that is returned counts", q.DeliveryLimit)
		f.Remedy = t.limited(q.DeliveryLimit.Source, "-1") + ", or use a classic queue for failed messages"

		if q.DeliveryLimit.Source.Kind == model.FromDefault {
			f.Level = LevelInfo
		}

		if !t.Behaviour.ReturnCountsAsDelivery {
			f.Message = spell("failed messages in %s are lost after a consumer has failed on them %v time(s)", q,
				q.DeliveryLimit.Value)
			f.Evidence = spell("delivery-limit %s, no dead-letter-exchange", q.DeliveryLimit)
		}
	default:
		return false
	}

	return true
}

// streamForgets is forgets for a stream, which deletes its oldest messages in whole segments.
func streamForgets(q queue, f *Finding) bool {
	for _, key := range []string{"max-age", "max-length-bytes"} {
		from := model.Source{Kind: model.FromArgument}
		value := q.Arguments["x-"+key]
		if value == nil {
			from = model.Source{Kind: model.FromPolicy, Name: q.Policy}
			value = q.PolicyDefinition[key]
		}

		if value == nil {
			continue
		}
		f.Message = spell("%s deletes its oldest failed messages by itself", q)
		f.Evidence = spell("a stream with %s %s (%s)", key, fmt.Sprint(value), from)
		f.Remedy = without(from, key)
		return true
	}

	return false
}

// limited says how to raise or end a delivery limit, given where it was set. From 4.0 a queue without one has
// RabbitMQ's default, and a policy neither raises nor ends a limit of an argument or of an operator policy.
func (t *checking) limited(from model.Source, to string) string {
	switch {
	case t.Behaviour.NegativeDeliveryLimitDrops:
		return without(from, "delivery-limit")
	case from.Kind == model.FromDefault:
		return "set delivery-limit " + to + " by policy"
	}

	return change(from, "delivery-limit") + ", to " + to
}

// without says how to remove a queue's setting, given where it was made.
func without(from model.Source, key string) string {
	switch from.Kind {
	case model.FromPolicy, model.FromOperatorPolicy:
		return spell("remove %s from the %s, or let its pattern leave out this queue", key, from)
	}

	return spell("delete the queue and declare it without x-%s (no policy raises an argument)", key)
}
