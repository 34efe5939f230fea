package findings

import (
	"math"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about messages that are lost when they leave a queue. A missing DLX and an unroutable key drop messages
// silently, on classic and quorum queues (measured on 3.10.8, 4.0.5 and 4.3.6).

// end is what happens to dead letters that reach no queue: they are lost, or their queue keeps them and tries again.
type end struct {
	level                    Level
	are, may, will, evidence string
}

// deadLettering says where a queue's dead letters go and why.
func deadLettering(s model.Settings) string {
	return spell("dead-letter-exchange %s (%s), key %s", exchangeOf(s), s.DLX.Source, s.Key)
}

func endOf(q queue) end {
	if q.KeepsDeadLetters() {
		return end{LevelWarning, "stay in it", "may stay in it", "kept", "; dead-letter-strategy at-least-once keeps them"}
	}
	return end{LevelError, "are lost", "may be lost", "lost", ""}
}

func (t *checking) findMissingDLX(q queue) {
	hops := t.Hops(q.QueueRef)
	if len(hops) == 0 || hops[0].Route.MissingExchange == "" {
		return
	}
	end := endOf(q)
	exchange := q.DLX.Value
	t.onDemand(q, Finding{
		Code:     "dlx-missing",
		Level:    end.level,
		Exchange: q.DLX.Value,
		Message:  spell("dead letters of %s %s: the exchange %s does not exist", q, end.are, exchange),
		Evidence: spell("dead-letter-exchange %s; no exchange of that name in the vhost%s",
			q.DLX, end.evidence),
		Remedy: spell("declare the exchange %s and bind it, or set another dead-letter-exchange (a policy can "+
			"change it without declaring the queue again)", exchange),
	})
}

func (t *checking) findTTLWithoutDLX(q queue) {
	if !q.TTL.Set || !q.NoDLX(q.Settings) || t.IsFailed(q.QueueRef) {
		return
	}
	full, no := "", "no dead-letter-exchange"
	if q.DropsHead() {
		full, no = ", and its oldest ones when it is full", limitOf(q)+", "+no
	}

	t.foundIn(q, Finding{ // a queue of one connection is often meant to drop messages
		Code: "ttl-without-dlx", Level: infoIf(q.Exclusive || q.AutoDelete),
		Message: spell("%s loses messages that expire (after %s)%s: it has no dead-letter exchange", q, q.TTL.Value,
			full),
		Evidence: spell("message-ttl %s, %s", q.TTL, no),
		Remedy: "unless the loss is intended, set a dead-letter-exchange (a policy takes effect at once), or " +
			without(q.TTL.Source, "message-ttl"),
	})
}

// limitOf is the limit of a queue, and what happens when it is full.
func limitOf(q queue) string {
	limit := "max-length " + q.MaxLength.String()
	if !q.MaxLength.Set {
		limit = "max-length-bytes " + q.MaxBytes.String()
	}
	return spell("%s, overflow %s", limit, q.Overflow)
}

func (t *checking) findLimitWithoutDLX(q queue) {
	if q.TTL.Set || !q.DropsHead() || !q.NoDLX(q.Settings) || t.IsFailed(q.QueueRef) {
		return // with a TTL it is one finding
	}
	t.foundIn(q, Finding{
		Code:     "limit-without-dlx",
		Level:    infoIf(q.Exclusive || q.AutoDelete),
		Message:  spell("%s loses its oldest messages when it is full: it has no dead-letter exchange", q),
		Evidence: limitOf(q) + ", no dead-letter-exchange",
	})
}

func (t *checking) findDeliveryLimitWithoutDLX(q queue) {
	if !q.DeliveryLimit.Set || q.DeliveryLimit.Value < 0 || !q.NoDLX(q.Settings) || t.IsFailed(q.QueueRef) {
		return
	}
	t.foundIn(q, Finding{
		Code: "delivery-limit-without-dlx", Level: infoIf(q.DeliveryLimit.Source.Kind == model.FromDefault),
		Message: spell("%s loses messages that %s more than %v time(s): it has no dead-letter exchange", q,
			t.howReturned(), q.DeliveryLimit.Value),
		Evidence: spell("delivery-limit %s, no dead-letter-exchange", q.DeliveryLimit),
	})
}

// findCarriedDeliveryCounts finds quorum queues that lose, at the first return, messages dead-lettered at another one's
// delivery limit (from 4.3).
func (t *checking) findCarriedDeliveryCounts(q queue) {
	c := t.CarriedFromWork(q.QueueRef)
	if q.Type != model.Quorum || !q.NoDLX(q.Settings) || !q.DeliveryLimit.Set || q.DeliveryLimit.Value < 0 ||
		c.Count <= q.DeliveryLimit.Value {
		return
	}
	keeps := "-1"
	if c.Count < math.MaxInt64 {
		keeps = model.Count(c.Count) + " or more"
	}

	t.foundIn(q, Finding{
		Code: "delivery-count-carried",
		Message: spell("%s loses what %s gives up at its delivery limit, at its first return, also by basic.nack: "+
			"such messages keep their delivery count", q, c.From),
		Evidence: spell("delivery-limit of %s %s, delivery-limit %s, no dead-letter-exchange", c.From,
			t.Settings(c.From).DeliveryLimit, q.DeliveryLimit),
		Remedy: t.limited(q.DeliveryLimit.Source, keeps),
	})
}

// howReturned says which returns count towards a delivery limit (measured on 4.0.5 and 4.3.6).
func (t *checking) howReturned() string {
	if t.Behaviour.ReturnCountsAsDelivery {
		return "come back"
	}
	return "are rejected, or left unacknowledged by a channel that closes (basic.nack does not count),"
}
