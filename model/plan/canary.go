package plan

import (
	"fmt"
	"slices"
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

// Stage is how many messages a stage acts on; 0 is all that are left. watched: wait for their fate before the next
// stage.
func (c *Canary) Stage(number int) (messages int, watched bool) {
	if c == nil || number >= len(canaryStages) {
		return 0, false
	}
	return canaryStages[number], true
}

// Words describe the canary before it runs.
func (c *Canary) Words() string {
	return fmt.Sprintf("1 message first; when it is taken, and does not come back within %s, %d more; then the rest. It "+
		"stops when one comes back", model.ShortDuration(c.Wait), canaryStages[1])
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

// warnOfCanary warns of what the canary cannot see.
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

// deliveryLimit is the delivery limit of a quorum queue; limited is false without one.
func deliveryLimit(t *model.Topology, ref model.QueueRef) (limit int64, limited bool) {
	if s := t.Settings(ref).DeliveryLimit; s.Set {
		return s.Value, s.Value >= 0
	}
	limit = t.Behaviour.DefaultDeliveryLimit
	return limit, limit > 0
}

// mostDeliveries is the highest delivery count among messages. Unreadable ones are reported where their recipients are
// worked out.
func mostDeliveries(messages message.Messages) int64 {
	var most int64
	if messages == nil {
		return 0
	}
	_ = message.Each(messages, 1, func(m *message.Message) { most = max(most, m.Counted()) })
	return most
}
