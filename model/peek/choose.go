package peek

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// belowOthers is the x-priority of a peek's consumer: applications have 0 or more, and are served first.
const belowOthers = -10

// scarceDeliveries is the remainder of a delivery limit at which peeking at a quorum queue is refused: it is left to
// the consumers.
const scarceDeliveries = 2

func For(t *model.Topology, ref model.QueueRef, want Want) Plan {
	q, ok := t.Queue(ref)
	if !ok {
		return Plan{Queue: ref, Refusal: Refusal{noQueue(ref)}}
	}
	if !want.Delivered.Known() {
		want.Delivered = delivered(t, ref)
	}

	want.Carried, _ = t.Carried(ref)
	want.Looked = t.Snapshot.Looked[ref]
	want.Worker = t.IsWorker(ref)
	plan := OfQueue(q, t.Settings(ref), t.Behaviour, want)
	if t.WaitsByMessage(ref) {
		plan.Cost = "overdue messages expire when read; " + plan.Cost
		plan.Free = false
		plan.Expires = true
	}

	return plan
}

// ToDecide returns a look at all messages of a queue that decides whether messages are sent or removed: an empty queue
// must be certain.
func ToDecide(t *model.Topology, ref model.QueueRef, insist, readOnly bool) Plan {
	plan := For(t, ref, Want{Insist: insist, ReadOnly: readOnly, ForAction: true, Decides: true})
	plan.Least = 1
	return plan
}

// OfQueue decides how to take messages from a queue so that they return unchanged and in order, what that costs, and
// when not to. q are the queue's counts and flags, s its effective settings, b the broker's behaviour.
//
//	queue                            method   release  costs
//	classic                          consume  close    redelivered
//	quorum before 4.0                consume  close    redelivered, delivery count +1
//	quorum 4.0 to 4.2                consume  nack     redelivered, delivery count +1; a cost where it is limited
//	quorum 4.3 and later             consume  nack     redelivered; acquired count +1, which limits nothing
//	stream                           stream   -        nothing
//	classic: auto-delete, exclusive
//	consumer, single active consumer get      close    redelivered; a round trip for each message
//
// A nack would work for classic queues too, but is slower (3.10.8: 20,000 messages of 1 KiB return in 48 to 64 ms after
// a nack, in 39 to 48 ms after a close).
func OfQueue(q *model.Queue, s model.Settings, b model.Behaviour, want Want) Plan {
	want = want.withDefaults()
	p := peekPlanner{
		queue:     q,
		settings:  s,
		behaviour: b,
		want:      want,
		plan: Plan{
			Queue:    q.QueueRef,
			Type:     q.Type,
			Method:   Consume,
			Release:  ReleaseClose,
			Limit:    want.Limit,
			MaxBytes: want.MaxBytes,
			Timeout:  want.Timeout,
			Acts:     want.ForAction,
			Insists:  want.Insist,
			Decides:  want.Decides,
		},
	}

	switch {
	case q.Outage() != model.NoOutage:
		p.refuse(model.Said{Says: q.OutageWords()})
	case q.OwnedByAnother:
		p.refuse(model.Saidf("exclusive to another connection: only that connection can read it"))
	case q.Type == model.Stream:
		p.stream()
	case q.Type == model.Quorum:
		p.quorum()
	case q.Type == model.Classic:
		p.classic()
	default:
		p.refuse(model.Saidf("dlxtop does not know what a look does to a queue of type %q", model.Printable(string(q.Type))).
			Insisting("it is read as a classic queue would be"))
		p.classic()
	}

	p.ended()
	return p.done()
}

// peekPlanner collects what a peek at a queue costs and what speaks against it.
type peekPlanner struct {
	plan      Plan
	queue     *model.Queue
	settings  model.Settings
	behaviour model.Behaviour
	want      Want
	costs     []string
	charged   bool // there is a cost besides the mark and the delivery limit
	uses      bool // it uses 1 of the delivery limit
	against   Refusal
}

// ended considers how the last peek ended, if not by dlxtop.
func (p *peekPlanner) ended() {
	p.plan.ApplyEnded(p.want.Looked)
	before := endedBefore(p.plan.Ended, p.plan.Type)
	switch {
	case p.plan.Ended.Sure():
		p.refuse(before)
		if p.plan.Scarce && p.plan.Carries {
			left := max(p.plan.Budget-p.want.Looked.Highest, 0)
			p.refuse(unless(p.want.ReadOnly, limitNear(left, p.settings.DeliveryLimit)))
		}
	case p.plan.Ended.Any():
		p.cost("%s", before.Says)
	}
}

func (p *peekPlanner) mark(format string, values ...any) {
	p.costs = append(p.costs, model.Sayf(format, values...))
}

// cost adds a further cost of this peek.
func (p *peekPlanner) cost(format string, values ...any) {
	p.mark(format, values...)
	p.charged = true
}

func (p *peekPlanner) refuse(o model.Said) { p.against = append(p.against, o) }

// unless makes an objection final when the connection is read-only: then no one can agree to go on.
func unless(readOnly bool, r model.Said) model.Said {
	if readOnly {
		r.Insist = ""
	}
	return r
}

// done assembles the plan. If the user insisted, the costs repeat what that does.
func (p *peekPlanner) done() Plan {
	plan := p.plan
	if p.want.Insist && p.against.Overridable() {
		p.costs = append(p.costs, p.against.Override())
	} else {
		plan.Refusal = p.against
	}

	plan.Cost = strings.Join(p.costs, "; ")
	plan.Harms = p.charged
	plan.Free = !p.charged && !p.uses && !p.against.Refused() && !p.want.ForAction
	return plan
}

func (p *peekPlanner) stream() {
	p.plan.Method = Stream
	p.bound()
	if p.want.ForAction {
		p.refuse(model.Saidf("it is a stream: messages stay in it when they are read, so none can be replayed or dropped"))
		return
	}
	p.mark("no cost: reading a stream takes nothing out of it")
}

func (p *peekPlanner) classic() {
	q := p.queue
	switch {
	case q.AutoDelete:
		// Cancelling the last consumer deletes the queue with everything in it, even if it was also the first (all versions).
		p.get("the queue is deleted with its last consumer")
	case q.ExclusiveHeld:
		p.get("a consumer with exclusive access is attached")
	case q.SingleActive:
		// A consumer would become the active one where there is none; a get does not.
		p.get("it has a single active consumer")
		if n, known := q.Consumers.Get(); !known || n > 0 {
			p.refuse(model.Saidf("it has a single active consumer, and %s: that one would continue with the "+
				"messages behind the held ones", attached(known)).
				Insisting("the active consumer may receive messages out of their order"))
		}
	default:
		p.consume()
	}

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
		// basic.get is refused (405, all versions), so the only way is to be the active consumer for a moment.
		if n, known := q.Consumers.Get(); q.NoneActive && n > 0 {
			p.refuse(model.Saidf("it has a single active consumer, and of its %v consumer(s) none is active: one more "+
				"receives nothing, and RabbitMQ refuses basic.get here: restart the consumers", n))
		} else if !known || n > 0 {
			p.refuse(model.Saidf("it has a single active consumer, and %s: a second one receives nothing, and "+
				"RabbitMQ refuses basic.get here", attached(known)))
		}

		p.cost("while it runs, dlxtop is the active consumer: an application that attaches waits until it ends")
	}

	// Otherwise they wait for nothing. A limit pushes out the oldest, with a look and without: those that come back are
	// the oldest again (classic and quorum, 3.10.8, 4.0.5, 4.3.6), unless their priorities are forgotten.
	if n := q.Priorities.Or(0); n > 1 && (p.settings.DLX.Set || p.settings.DropsHead()) {
		p.cost("its messages have %v priorities: returned, they leave in one line, where the first can hold up the rest", n)
	}

	p.deliveryLimit()
	if retry := &p.settings.DelayedRetry; retry.Type.Value == "all" || retry.Type.Value == "returned" {
		p.refuse(model.Saidf("its delayed retry (%s) hides each returned message for %s", retry.Type.Value, retry.Range()).
			Insisting("the messages come back only after the delay of the retry"))
	}

	p.lease()
	p.bound()
}

// attached says of a queue's consumers that there are some, or that nobody told yet.
func attached(known bool) string {
	if known {
		return "one is attached"
	}
	return "one may be attached, as RabbitMQ has not told yet"
}

// deliveryLimit considers what a return counts. From 4.3 one nack(multiple, requeue) does not count as a failed
// delivery.
func (p *peekPlanner) deliveryLimit() {
	limit := p.settings.DeliveryLimit
	if !p.behaviour.ReturnCountsAsDelivery {
		if p.behaviour.CarriesDeliveryCount && limit.Set && limit.Value >= 0 {
			p.carried(limit)
		}
		return
	}

	if !limit.Set && p.behaviour.DefaultDeliveryLimit > 0 {
		limit = model.Setting[int64]{
			Value: p.behaviour.DefaultDeliveryLimit, Set: true, Source: model.Source{Kind: model.FromDefault},
		}
	}

	if !limit.Set || limit.Value < 0 && !p.behaviour.NegativeDeliveryLimitDrops {
		p.unlimited()
		return
	}

	p.budget(limit)
}

// unlimited considers a count of returns that limits nothing. A worker's application may read it in x-delivery-count,
// and give up the sooner.
func (p *peekPlanner) unlimited() {
	const words = "each look adds 1 to x-delivery-count, which nothing limits here"

	if n, known := p.queue.Consumers.Get(); !known || n > 0 || p.want.Worker {
		p.cost(words)
		return
	}
	p.mark(words)
}

// carried considers the counts with which messages may arrive. A message above the limit that the topology does not
// predict is rescued.
func (p *peekPlanner) carried(limit model.Setting[int64]) {
	plan, want := &p.plan, &p.want
	plan.Carries = true
	plan.Budget = limit.Value
	plan.TakesAll = want.TakesAll
	plan.Carried = want.Carried
	plan.Agreed = want.Insist && !want.ReadOnly
	plan.Final = want.ReadOnly
	if plan.Foreseen() && !want.TakesAll {
		p.cost("%s; %s", countCarried(want.Carried, limit.Value).Says, rescuing)
		p.costs = append(p.costs[len(p.costs)-1:], p.costs[:len(p.costs)-1]...) // first: it may lose messages
	}
}

// budget considers what is left of a delivery limit. If no earlier peek recorded that, the first message taken shows
// it. As a look at all messages costs no more than one at the first, it takes all that fit, if the want agrees.
func (p *peekPlanner) budget(limit model.Setting[int64]) {
	plan, want := &p.plan, &p.want
	plan.Delivered = want.Delivered
	if want.Whole && !want.ForAction {
		plan.Limit = max(plan.Limit, MostLook)
		plan.Timeout = max(plan.Timeout, longTimeout)
		plan.MaxBytes = max(plan.MaxBytes, lookBytes)
	}

	plan.Counts = true
	plan.Budget = limit.Value
	plan.TakesAll = want.TakesAll
	plan.Agreed = want.Insist && !want.ReadOnly
	plan.Final = want.ReadOnly
	delivered, known := want.Delivered.Get()
	left := max(limit.Value-delivered, 0)
	switch {
	case want.TakesAll:
	case left <= scarceDeliveries:
		p.refuse(unless(want.ReadOnly, limitNear(left, limit)))
	case known:
		p.uses = true
		p.mark("%s (%s), and this uses 1", LooksLeft(left, limit.Value), limit.Source)
	default:
		p.uses = true
		p.mark("each look uses 1 of the delivery limit %d (%s)", limit.Value, limit.Source)
	}
}

// consume takes messages with a consumer, at a lower priority than applications.
func (p *peekPlanner) consume() {
	if n, known := p.queue.Consumers.Get(); !known || n > 0 || p.queue.SingleActive {
		p.plan.Priority = belowOthers
	}
	p.redelivered("")
	if n, _ := p.queue.Consumers.Get(); n > 0 {
		p.mark("its consumers are served first: only messages that they leave are seen")
	}
}

// get takes messages one by one, where a consumer would do harm.
func (p *peekPlanner) get(why string) {
	p.plan.Method = Get
	p.redelivered("read one by one, because " + why)
}

func (p *peekPlanner) redelivered(how string) {
	if how != "" {
		p.mark("%s", how)
	}

	ended := p.want.Looked.Ended
	switch {
	case p.plan.Type == model.Quorum && ended.Sure() && ended.Before > 0:
		p.mark("messages become marked as redelivered")
	case p.want.ForAction:
		p.mark("while it runs, messages ahead of the last selected one are held; the others return in order, " +
			"marked redelivered")
	default:
		p.mark("order kept, messages become marked as redelivered")
	}
}

func (p *peekPlanner) lease() {
	if expires := p.settings.Expires; expires.Set {
		p.cost("it counts as use of the queue, which is deleted when unused for %v", expires.Value)
	}
}

// bound keeps the held bytes within MaxBytes, going by the mean size: AMQP cannot truncate a body. A peek reads fewer
// messages; an action reads all that it must, in smaller pages.
func (p *peekPlanner) bound() {
	plan := &p.plan
	plan.Page = MaxPage
	if plan.Limit > 0 {
		plan.Page = min(plan.Page, plan.Limit)
	}

	ready := p.queue.Ready.Or(0)
	bytes := p.queue.ReadyBytes.Or(0)
	if ready <= 0 || bytes <= 0 {
		return
	}
	mean := max(bytes/ready, 1)
	plan.Mean = mean
	fits := int(min(max(plan.MaxBytes/mean, 1), MaxPage))
	if fits >= plan.Page {
		return
	}
	plan.Page = fits
	if p.want.ForAction || int64(fits) >= ready {
		return
	}
	plan.Limit = fits
	p.mark("only %d at a time: they have %sB on average, and at most %sB are read", fits, message.Size(mean),
		message.Size(plan.MaxBytes))
}
