package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Canary makes a replay or a move begin with one message, then ten, and then the rest. It continues only when the
// messages of a stage were taken and have not come back into the queue that they came from.
type Canary struct {
	Wait     time.Duration // how long to watch that taken messages do not come back
	Patience time.Duration // how long to wait at most until the sent messages are taken
	OneLook  bool          // peeking costs deliveries: peek once after each stage; otherwise as often as useful
	// messages may leave the queue by themselves, so that its count alone does not show which came back
	Leaves bool
}

// CanaryAuto makes a canary watch as long as a message that fails again takes to come back, plus a margin.
const CanaryAuto time.Duration = -1

const canaryPatience = time.Minute

// canaryStages are the numbers of messages that go before the rest.
var canaryStages = []int{1, 10}

// canaryDeliveries is how often a message that stays is delivered at most: twice in each stage, and once with the rest.
const canaryDeliveries = 5

// Stage returns how many messages a stage acts on; 0 is all that are left. watched: wait for their fate before the next
// stage.
func (c *Canary) Stage(number int) (messages int, watched bool) {
	if c == nil || number >= len(canaryStages) {
		return 0, false
	}
	return canaryStages[number], true
}

// Words describe the canary before it runs.
func (c *Canary) Words() string {
	return model.Sayf("1 message first; when it is taken, and does not come back within %s, %d more; then the rest. It "+
		"stops when one comes back", c.Wait, canaryStages[1])
}

// prepareCanary works out what a canary needs, costs and cannot see.
func (p *Plan) prepareCanary(t *model.Topology, want *ActionWant) {
	s := t.Settings(p.From)
	q, _ := t.Queue(p.From)
	wait := want.Canary
	if wait == CanaryAuto {
		wait = watchOf(p.Round)
	}

	p.Canary = &Canary{
		Wait: wait, Patience: max(canaryPatience, 2*wait), Leaves: s.TTL.Set || q == nil || q.Consumers.Or(1) > 0,
	}
	if p.Refusal.Refused() {
		return
	}
	if slices.ContainsFunc(p.Recipients, func(r Recipient) bool { return r.Queue == p.From }) {
		p.against(model.Saidf("no canary possible: they go back into the queue they come from, so dlxtop could not " +
			"recognize one that comes back"))
		return
	}

	if q != nil && q.Type == model.Quorum && t.Behaviour.ReturnCountsAsDelivery {
		p.Canary.OneLook = true
		limit, limited := deliveryLimit(t, p.From)
		used := mostDeliveries(want.Sample)
		if limited && limit-used <= canaryDeliveries {
			p.against(model.Saidf("no canary possible: it takes the remaining messages out up to %d times, each counts against "+
				"the delivery limit %d of %s, and one has used %d of it", canaryDeliveries, limit, p.From, used))
			return
		}

		p.warn(warning("a canary looks at the queue more often: x-delivery-count of the messages that stay grows by up to %d",
			canaryDeliveries))
	}

	p.warnOfCanary()
}

func (p *Plan) warnOfCanary() {
	idle := len(p.Recipients) > 0
	for _, r := range p.Recipients {
		idle = idle && r.Consumers.Known() && r.Consumers.Or(1) == 0
	}

	if p.Round >= p.Canary.Wait {
		p.warn(warning("messages that fail again wait in retry buffers for %s or more before they come back: a canary of %s "+
			"does not see that", p.Round, p.Canary.Wait))
	}

	if idle {
		p.warn(warning("no consumers where they are sent: the canary waits for one for at most %s, and then stops",
			p.Canary.Patience))
	}
}

// deliveryLimit returns the delivery limit of a quorum queue; limited is false without one.
func deliveryLimit(t *model.Topology, ref model.QueueRef) (limit int64, limited bool) {
	if s := t.Settings(ref).DeliveryLimit; s.Set {
		return s.Value, s.Value >= 0
	}
	limit = t.Behaviour.DefaultDeliveryLimit
	return limit, limit > 0
}

// mostDeliveries returns the highest delivery count among messages. Unreadable ones are reported where their recipients
// are worked out.
func mostDeliveries(messages message.Messages) int64 {
	var most int64
	if messages == nil {
		return 0
	}
	_ = message.Each(messages, 1, func(m *message.Message) { most = max(most, m.Counted()) })
	return most
}

// CanaryPhase is how far a canary is, or how it ended.
type CanaryPhase string

const (
	CanaryWaits     CanaryPhase = "waits"     // until the sent messages are taken
	CanaryWatches   CanaryPhase = "watches"   // whether they come back
	CanaryUnsettled CanaryPhase = "unsettled" // nothing came back, but they are not acknowledged
	CanaryPassed    CanaryPhase = "passed"    // acknowledged, where that is known, and nothing came back
	CanaryHurried   CanaryPhase = "hurried"   // the user did not want to wait any longer
	CanaryFailed    CanaryPhase = "came back" // some of the messages
	CanaryCut       CanaryPhase = "cut"       // it ended before anything was known
)

// CanaryState is what a canary is doing, or has shown at the end. The zero value: no canary, or it has not begun.
type CanaryState struct {
	Phase CanaryPhase
	Sent  int              // messages so far
	Back  int              // with CanaryFailed: how many came back
	Wait  time.Duration    // how long it watches
	Until time.Time        // when it stops waiting
	Idle  []model.QueueRef // with CanaryWaits: queues of sent messages that have no consumers
	Ahead int64            // with CanaryWaits: messages up to the last one sent
	Acks  *CanaryAcks      // with CanaryUnsettled
}

// Waits reports whether it is waiting; Run.GoOn ends that.
func (s *CanaryState) Waits() bool {
	return s.Phase == CanaryWaits || s.Phase == CanaryWatches || s.Phase == CanaryUnsettled
}

// Words say exactly what it is doing, or has shown; "" without a canary.
func (s *CanaryState) Words() string {
	switch s.Phase {
	case CanaryWaits:
		words := model.Sayf("%d sent, waiting until (it is|they are) taken", s.Sent)
		if why := s.WaitsFor(); why != "" {
			words += ": " + why
		}
		return words
	case CanaryWatches:
		return model.Sayf("%d taken, watching for %s that none comes back", s.Sent, s.Wait)
	case CanaryUnsettled:
		return model.Sayf("%d taken, %s", s.Sent, s.Acks.ackWords())
	case CanaryPassed:
		return model.Sayf("%d (was taken, and did not come|were taken, and none came) back within %s", s.Sent, s.Wait)
	case CanaryHurried:
		return model.Sayf("after %d it went on without waiting to the end", s.Sent)
	case CanaryFailed:
		return model.Sayf("%d of %d came back", s.Back, s.Sent)
	case CanaryCut:
		return model.Sayf("%d sent; stopped before the outcome was known", s.Sent)
	}

	return ""
}

// Left returns the remaining wait, to follow Words: ", 7s left"; "" when it does not wait.
func (s *CanaryState) Left(now time.Time) string {
	if !s.Waits() || s.Until.IsZero() {
		return ""
	}
	return model.Sayf(", %s left", max(s.Until.Sub(now), 0).Truncate(time.Second))
}

// WaitsFor returns why the sent messages are not taken, as far as their queues show; "" when they do not.
func (s *CanaryState) WaitsFor() string {
	switch {
	case len(s.Idle) > 0:
		return "no consumers on " + strings.Join(model.Mapped(s.Idle, (*model.QueueRef).Printable), ", ")
	case s.Ahead > 0:
		return model.Sayf("%v message(s) to go in its queue", s.Ahead)
	}

	return ""
}

// ackWords say what a queue shows instead of an acknowledgement.
func (a *CanaryAcks) ackWords() string {
	queue := a.Queue.Printable()
	words := fmt.Sprintf("%d of %d acknowledged in %s", min(max(a.Taken, 0), a.Sent), a.Sent, queue)
	if a.Taken <= 0 {
		words = "none acknowledged in " + queue
	}
	if a.Unacked > 0 {
		words += fmt.Sprintf(", %d unacknowledged", a.Unacked)
	}
	if a.Redelivered > 0 {
		words += fmt.Sprintf(", redelivered %d times", a.Redelivered)
	}

	return words
}

// CanaryAcks decide whether the messages that a canary sent to a queue were acknowledged, by the management API's
// counts: a delivery alone proves nothing, because a worker may requeue every message for ever, or keep it (3.10.8 to
// 4.3.6).
type CanaryAcks struct {
	Queue       model.QueueRef
	Sent        int64     // in this stage
	Unacked     int64     // delivered, and neither acknowledged nor requeued
	Ready       int64     // waiting, dlxtop's own messages or others
	Redelivered int64     // since the stage began
	Taken       int64     // acknowledged since the stage began, or delivered without needing that
	EmptySince  time.Time // since then the queue was empty and redelivered nothing; zero: not so
}

// manyRedeliveries for each message, without one acknowledgement, end the wait.
const manyRedeliveries = 20

// Count goes on with newer counts; before are those from before the stage.
func (a *CanaryAcks) Count(before, now *model.Queue, at time.Time) {
	redelivered := now.Redelivered.Or(0) - before.Redelivered.Or(0)
	a.Ready, a.Unacked = now.Ready.Or(0), now.Unacked.Or(0)
	a.Taken = now.Taken().Or(0) - before.Taken().Or(0)
	switch {
	case a.Ready+a.Unacked > 0 || redelivered != a.Redelivered:
		a.EmptySince = time.Time{}
	case a.EmptySince.IsZero():
		a.EmptySince = at
	}

	a.Redelivered = redelivered
}

// Passed reports whether the messages of the stage are done: as many were acknowledged as had been there and were sent,
// or the queue is empty and redelivers nothing for as long as statistics may lag.
func (a *CanaryAcks) Passed(before *model.Queue, at time.Time) bool {
	ahead := before.Ready.Or(0) + before.Unacked.Or(0)
	return a.Taken >= ahead+a.Sent || !a.EmptySince.IsZero() && at.Sub(a.EmptySince) >= model.StatisticsLag
}

// Loops reports whether the messages are requeued again and again, and none is acknowledged.
func (a *CanaryAcks) Loops() bool { return a.Taken == 0 && a.Redelivered >= manyRedeliveries*a.Sent }
