package findings

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// findEarlierTTLs finds queues whose first message is older than the TTL that a policy sets: it waits under an earlier
// one, with everything behind it. Without a look that is known where its publisher wrote a timestamp
// (head_message_timestamp, classic queues before 4.0) and nothing brings older messages into the queue, or where
// nothing has left for longer than the TTL.
func (t *checking) findEarlierTTLs(q queue) {
	ready := q.Ready.Or(0)
	if !q.TTL.ByPolicy() || ready == 0 || q.Consumed() || q.Polled() {
		return
	}

	stayed, proven := t.Outlived(q.QueueRef)
	f := Finding{
		Code:      "earlier-ttl",
		Happening: true,
		Message: spell("the first message of %s has been there for %s, longer than the TTL %s: it waits under an "+
			"earlier TTL, and what is behind it waits for it", q, stayed.Round(time.Second), q.TTL),
		Evidence: spell("nothing left it for %s; %v ready, message-ttl %s", stayed.Round(time.Second), ready, q.TTL),
		Remedy:   earlierTTLRemedy,
	}

	if !proven {
		age, old := t.headAge(q)
		if !old {
			return
		}
		words := model.ShortDuration(age.Round(time.Second))
		f.Message = spell("the first message of %s is %s old, older than the TTL %s: it waits under an earlier TTL, and "+
			"what is behind it waits for it", q, words, q.TTL)
		f.Evidence = spell("head_message_timestamp %s ago; %v ready, message-ttl %s", words, ready, q.TTL)
		f.Remedy += "; where its publisher's clock is behind, nothing is wrong"
	}

	t.foundIn(q, f)
}

// headAge returns how old the first message of a queue is by its timestamp; old is false where that says nothing, or it
// may have left since it was counted.
func (t *checking) headAge(q queue) (age time.Duration, old bool) {
	stamp, known := q.HeadTimestamp.Get()
	if !known || stamp.Before(model.FirstTime) || stamp.After(model.LastTime) || q.DeadLettered().Or(0) > 0 {
		return 0, false
	}
	for _, f := range t.FlowsOf(q.QueueRef) {
		if f.Role(q.QueueRef) != model.DelayedBuffer {
			return 0, false // it was somewhere else before
		}
	}

	clock := t.Snapshot.Overview.Clock()
	age = min(t.Snapshot.TakenAt.Sub(clock.Local(stamp)), t.Snapshot.TakenAt.Sub(stamp)) - clock.Within
	return age, age > q.TTL.Value+model.StatisticsLag+model.ClockTolerance
}
