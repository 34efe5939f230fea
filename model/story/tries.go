package story

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Tries is how often a worker has had a message.
type Tries struct {
	Least, Most int64  // as far as known; Most is 0 when unbounded
	Note        string // why it is not exact; "" when it is
}

// Words returns "3", "3 at least", "1 to 214".
func (t Tries) Words() string {
	switch {
	case t.Most == t.Least:
		return model.Count(t.Least)
	case t.Most > t.Least:
		return model.Sayf("%v to %v", t.Least, t.Most)
	}

	return model.Count(t.Least) + " at least"
}

// TriesOf counts how often the worker of the queue's flow has had a message: its rejections there, or else its returns
// from the retry buffers plus what the worker sent into them. From 4.0 the broker does not count the deaths of a
// message that a worker republishes: then its age bounds how many rounds it can have made.
func TriesOf(t *model.Topology, m *message.Message, in model.QueueRef, now time.Time) Tries {
	f := RetryFlow(t, in)
	if f == nil {
		return triesAtRest(t, m, in)
	}
	var came int64 // back from a retry buffer
	shortest := time.Duration(math.MaxInt64)
	for _, b := range f.Buffers {
		if b.Role != model.RetryBuffer {
			continue
		}
		for _, ref := range b.Queues() {
			came = message.AddCapped(came, deathsIn(m, ref, model.Expired))
		}
		shortest = min(shortest, b.TTL.Or(0))
	}

	counted := countedTries(m, f.Role(in).IsEnd())
	limited, note := limitedTries(t, m, f.Worker.Queue)
	rejected := message.AddCapped(deathsIn(m, f.Worker.Queue, model.Rejected), limited)
	sent := came

	republishes := republishes(t, f)
	if role := f.Role(in); !republishes {
		sent = 0 // each came in through a rejection, which is counted
	} else if (role == model.RetryBuffer || role.IsEnd()) && sent < math.MaxInt64 {
		sent++ // the try that brought it here
		if role.IsEnd() && len(m.Deaths) == 0 && counted == 0 {
			sent = 0 // its headers show no buffer: how it got here is unknown
		}
	}

	tries := Tries{Least: max(rejected, sent, counted)}
	if note != "" {
		tries.Note = note
		return tries
	}

	tries.Most = tries.Least
	if t.Behaviour.CountsRepublishedDeaths || rejected > 0 || counted > 0 || sent == 0 || !republishes {
		return tries
	}
	tries.Most = 0
	tries.Note = fmt.Sprintf("RabbitMQ %s does not count what a worker republishes", t.Snapshot.Overview.Version)
	from, ok := m.PublishedAt()
	if f.Role(in).IsEnd() {
		return tries // the time at which it came to rest here is unknown
	}
	if age := now.Sub(t.Snapshot.Overview.Clock().Local(from)); ok && shortest > 0 && age > 0 {
		tries.Most = max(tries.Least, int64(age/shortest)+1)
	}

	return tries
}

// limitedTries returns how often a worker had a message before its deaths by delivery_limit, at least: a message dies
// when it is returned once more than the limit. One that keeps its count (4.3) already exceeds it when it comes again.
// note says why there may be more; "" without such deaths.
func limitedTries(t *model.Topology, m *message.Message, worker model.QueueRef) (tries int64, note string) {
	deaths := deathsIn(m, worker, model.DeliveryLimit)
	if deaths == 0 {
		return 0, ""
	}
	limit := t.Settings(worker).DeliveryLimit
	note = "a death by delivery_limit takes more deliveries than x-death counts"
	carried, carries := t.Carried(worker)
	each := message.AddCapped(max(limit.Value, 0), 1)
	switch {
	case !limit.Set || limit.Value < 0 || carries && carried.From != worker:
		return deaths, note
	case carries:
		return message.AddCapped(deaths, limit.Value), note
	case deaths > math.MaxInt64/each:
		return math.MaxInt64, note
	}

	return deaths * each, model.Sayf("a death by delivery_limit takes %v or more deliveries (delivery-limit %s)", each,
		limit)
}

// failedHere returns how often a message failed in its quorum queue, by the broker's count, of the tries that the
// delivery limit allows; from 4.3 on, where looks do not count.
func failedHere(t *model.Topology, m *message.Message, in model.QueueRef) (Event, bool) {
	s := t.Settings(in)
	failed := m.Delivered()
	limit := s.DeliveryLimit
	if failed < 1 || t.Behaviour.ReturnCountsAsDelivery || !limit.Set || limit.Value < 0 {
		return Event{}, false
	}

	e := Event{Kind: Tried, What: model.Sayf("%v of %v failed", failed, limit.Value+1)}
	e.Note = "delivery-limit " + limit.String()
	if s.DelayedRetry.Type.Set && failed < limit.Value {
		e.Note += "; if rejected again, held back " + model.ShortDuration(s.DelayedRetry.After(failed+1))
	}

	return e, true
}

// countedTries returns what a worker itself counts in a message; a framework may leave the first try out.
func countedTries(m *message.Message, failed bool) (counted int64) {
	counted = m.CountedByWorker()
	if n, more, ok := m.Retried(); ok && n < math.MaxInt32 {
		if more && failed {
			n++
		}
		counted = max(counted, n)
	}

	return counted
}

// triesAtRest counts the tries of a message in a queue whose flow has no retry buffer: what its worker counted, or how
// often it returned from the retry buffers of the flow in which it died last, plus the try that brought it here.
func triesAtRest(t *model.Topology, m *message.Message, in model.QueueRef) Tries {
	tries := countedTries(m, atRest(t, in))
	if len(m.Deaths) > 0 && m.Deaths[0].Reason == model.Expired && atRest(t, in) {
		f := RetryFlow(t, in.Beside(m.Deaths[0].Queue))
		for d := range model.Each(m.Deaths) {
			if f != nil && d.Reason == model.Expired &&
				f.Role(in.Beside(d.Queue)) == model.RetryBuffer {
				tries = max(tries, message.AddCapped(d.Count, 1))
			}
		}
	}

	return Tries{Least: tries, Most: tries}
}

func atRest(t *model.Topology, in model.QueueRef) bool {
	is := func(m model.Member) bool { return m.Queue == in }
	return slices.ContainsFunc(slices.Concat(t.FailedWithoutFlow(), t.ParkedWithoutFlow()), is) ||
		slices.ContainsFunc(t.FlowsOf(in), func(f *model.Flow) bool { return f.Role(in).IsEnd() })
}

// republishes reports whether a worker's failures get into its retry buffers by republishing: no dead-letter exchange
// leads there.
func republishes(t *model.Topology, f *model.Flow) bool {
	for _, hop := range t.Hops(f.Worker.Queue) {
		for _, ref := range hop.Route.Queues {
			if f.Role(ref) == model.RetryBuffer {
				return false
			}
		}
	}

	return true
}
