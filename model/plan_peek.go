package model

import (
	"fmt"
	"strings"
)

// belowOthers is the x-priority of a peek's consumer: applications have 0 or more, and are served first.
const belowOthers = -10

// scarceDeliveries is how much may be left of a delivery limit so that a look at a quorum queue is refused: one look or two would use
// it up.
const scarceDeliveries = 2

// PlanPeek decides how to take messages out of a queue so that they go back in their order and nothing happens to them, what
// that costs, and when not to. q are the queue's counts and flags, s its effective settings, b the broker's behaviour.
//
//	queue                            method   release  costs
//	classic                          consume  close    redelivered
//	quorum before 4.0                consume  close    redelivered, delivery count +1
//	quorum 4.0 to 4.2                consume  nack     redelivered, delivery count +1
//	quorum 4.3 and later             consume  nack     redelivered; acquired count +1, which limits nothing
//	stream                           stream   -        nothing
//	classic: auto-delete, exclusive
//	consumer, single active consumer get      close    redelivered; a round trip for each message
//
// A nack would do for classic queues too; it takes them longer (3.10.8: 20,000 messages of 1 KiB come back in 48 to 64 ms after a nack, in 39
// to 48 ms after a close).
func PlanPeek(q *Queue, s Settings, b Behaviour, want PeekWant) PeekPlan {
	want = want.withDefaults()
	p := peekPlanner{queue: q, settings: s, behaviour: b, want: want, plan: PeekPlan{
		Queue: q.QueueRef, Type: q.Type, Method: PeekConsume, Release: ReleaseClose,
		Limit: want.Limit, MaxBytes: want.MaxBytes, Timeout: want.Timeout,
	}}
	switch {
	case q.OwnedByAnother:
		p.refuse("it is exclusive to another connection: only that connection can read it")
	case q.Type == Stream:
		p.stream()
	case q.Type == Quorum:
		p.quorum()
	case q.Type == Classic:
		p.classic()
	default:
		p.refuseUnless(fmt.Sprintf("dlxtop does not know what a look does to a queue of type %q", Printable(string(q.Type))),
			"it is read as a classic queue would be")
		p.classic()
	}
	return p.done()
}

// peekPlanner collects what a look at one queue costs and what speaks against it.
type peekPlanner struct {
	plan      PeekPlan
	queue     *Queue
	settings  Settings
	behaviour Behaviour
	want      PeekWant
	costs     []string
	reasons   []string // against it
	overrides []string // what insisting would do, for each of the reasons that allow it
	final     bool     // one of the reasons allows no insisting
}

func (p *peekPlanner) cost(format string, values ...any) {
	p.costs = append(p.costs, fmt.Sprintf(format, values...))
}

func (p *peekPlanner) refuse(reason string) {
	p.reasons, p.final = append(p.reasons, reason), true
}

func (p *peekPlanner) refuseUnless(reason, override string) {
	p.reasons, p.overrides = append(p.reasons, reason), append(p.overrides, override)
}

// done puts the plan together. Who insists is told again, as a cost, what that does.
func (p *peekPlanner) done() PeekPlan {
	plan := p.plan
	switch {
	case p.final:
		plan.Refusal = strings.Join(p.reasons, "; ")
	case len(p.reasons) > 0 && p.want.Insist:
		p.costs = append(p.costs, p.overrides...)
	case len(p.reasons) > 0:
		plan.Refusal, plan.Override = strings.Join(p.reasons, "; "), strings.Join(p.overrides, "; ")
	}
	plan.Cost = strings.Join(p.costs, "; ")
	return plan
}

func (p *peekPlanner) stream() {
	p.plan.Method = PeekStream
	p.bound()
	if p.want.ForAction {
		p.refuse("it is a stream: what is read stays in it, so nothing can be replayed or dropped out of it")
		return
	}
	p.cost("nothing: reading a stream takes nothing out of it")
}

func (p *peekPlanner) classic() {
	q := p.queue
	switch {
	case q.AutoDelete:
		// The last consumer's cancel deletes the queue with everything in it, also when it was its first (all versions).
		p.get("the queue is deleted with its last consumer")
	case q.ExclusiveHeld:
		p.get("a consumer with exclusive access is attached")
	case q.SingleActive:
		// A consumer would become the active one where none is; a get does not.
		p.get("it has a single active consumer")
		if n, known := q.Consumers.Get(); !known || n > 0 {
			p.refuseUnless("it has a single active consumer, and one is attached: it would go on with the messages behind the ones that are held",
				"the active consumer may receive messages out of their order")
		}
	default:
		p.consume()
	}
	p.bounded()
	p.lease()
	p.bound()
}

func (p *peekPlanner) quorum() {
	q, b := p.queue, p.behaviour
	if !b.NackScramblesQuorum {
		p.plan.Release = ReleaseNack
	}
	p.consume()
	if q.SingleActive {
		// basic.get is refused (405, all versions), so there is no other way than to be the active consumer for a moment.
		if n, known := q.Consumers.Get(); !known || n > 0 {
			p.refuse("it has a single active consumer, and one is attached: another one receives nothing, and RabbitMQ refuses basic.get here")
		}
		p.cost("dlxtop is its active consumer meanwhile: an application that attaches now waits until the end of this")
	}
	p.deliveryLimit()
	if retry := p.settings.DelayedRetry.Value; b.DelayedRetry && (retry == "all" || retry == "returned") {
		p.refuseUnless(fmt.Sprintf("its delayed retry (%s) hides each message that is given back for a while", retry),
			"the messages come back only after the delay of the retry")
	}
	p.bounded()
	p.lease()
	p.bound()
}

// deliveryLimit weighs what a return counts. From 4.3 one nack(multiple, requeue) does not count as a failed delivery.
func (p *peekPlanner) deliveryLimit() {
	if !p.behaviour.ReturnCountsAsDelivery {
		return
	}
	limit := p.settings.DeliveryLimit
	if !limit.Set && p.behaviour.DefaultDeliveryLimit > 0 {
		limit = Setting[int64]{p.behaviour.DefaultDeliveryLimit, true, Source{Kind: FromDefault}}
	}
	switch {
	case !limit.Set:
		p.cost("each look adds 1 to x-delivery-count")
	case limit.Value < 0 && p.behaviour.NegativeDeliveryLimitDrops:
		p.refuseUnless(fmt.Sprintf("its delivery limit is %d, and this RabbitMQ drops or dead-letters a message with it at its first return", limit.Value),
			"every message that is looked at is dropped or dead-lettered")
	case limit.Value < 0:
		p.cost("each look adds 1 to x-delivery-count")
	default:
		p.budget(limit)
	}
}

// budget weighs what is left of a delivery limit. How much that is, the first look tells.
func (p *peekPlanner) budget(limit Setting[int64]) {
	p.plan.Budget = limit.Value
	left := max(limit.Value-p.want.Delivered.Or(0), 0)
	switch known := p.want.Delivered.Or(0) > 0; {
	case left <= scarceDeliveries && known:
		p.refuseUnless(fmt.Sprintf("%d of the delivery limit %d (%s) are left to a message of it, and each look uses 1", left, limit.Value, limit.Source),
			"messages that have used up their limit are dropped or dead-lettered by the look")
	case left <= scarceDeliveries:
		p.refuseUnless(fmt.Sprintf("its delivery limit is %d (%s), and each look uses 1 of it", limit.Value, limit.Source),
			"messages that have used up their limit are dropped or dead-lettered by the look")
	case known:
		p.cost("each look adds 1 to the count that is compared with the limit %d (%s): the next one leaves %d", limit.Value, limit.Source, left-1)
	default:
		p.cost("each look adds 1 to the count that is compared with the limit %d (%s)", limit.Value, limit.Source)
	}
}

// consume takes messages with a consumer, behind those of applications.
func (p *peekPlanner) consume() {
	if n, known := p.queue.Consumers.Get(); !known || n > 0 || p.queue.SingleActive {
		p.plan.Priority = belowOthers
	}
	p.redelivered("")
	if n, _ := p.queue.Consumers.Get(); n > 0 {
		p.cost("its consumers are served first, so only what they leave is seen")
	}
}

// get takes messages one by one, where a consumer would do harm.
func (p *peekPlanner) get(why string) {
	p.plan.Method = PeekGet
	p.redelivered("read one by one, because " + why)
}

func (p *peekPlanner) redelivered(how string) {
	if how != "" {
		p.cost("%s", how)
	}
	if p.want.ForAction {
		p.cost("everything up to the last chosen message is held meanwhile; what is not chosen goes back in its order, marked redelivered")
	} else {
		p.cost("the messages go back in their order, marked redelivered")
	}
}

// bounded warns of a full queue: what comes in meanwhile can push held messages out when they return (classic, all versions).
func (p *peekPlanner) bounded() {
	if p.settings.Bounded() && (!p.settings.Overflow.Set || p.settings.Overflow.Value == dropHead) {
		p.cost("the queue is bounded and drops its oldest: messages that fill it up meanwhile can push the held ones out")
	}
}

func (p *peekPlanner) lease() {
	if expires := p.settings.Expires; expires.Set {
		p.cost("it renews the lease of the queue, which is deleted when unused for %s", ShortDuration(expires.Value))
	}
}

// bound keeps what is held within MaxBytes, as far as the mean size tells: AMQP cannot cut a body. A look reads fewer
// messages; an action reads all that it must, in smaller pages.
func (p *peekPlanner) bound() {
	plan := &p.plan
	plan.Page = MaxPage
	if plan.Limit > 0 {
		plan.Page = min(plan.Page, plan.Limit)
	}
	ready, bytes := p.queue.Ready.Or(0), p.queue.ReadyBytes.Or(0)
	if ready <= 0 || bytes <= 0 {
		return
	}
	mean := max(bytes/ready, 1)
	fits := int(min(max(plan.MaxBytes/mean, 1), MaxPage))
	if fits >= plan.Page {
		return
	}
	plan.Page = fits
	if p.want.ForAction || int64(fits) >= ready {
		return
	}
	plan.Limit = fits
	p.cost("only %d at a time: they have %sB on average, and at most %sB are read", fits, Size(mean), Size(plan.MaxBytes))
}
