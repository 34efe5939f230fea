package story

import (
	"fmt"
	"math"
	"time"

	"dlxtop/model"
	"dlxtop/model/message"
)

// Tries is how often a worker has had a message.
type Tries struct {
	Least, Most int64  // as far as is known; Most is 0 when nothing bounds it
	Note        string // why it is not exact; "" when it is
}

// Words are "3", "3 at least", "1 to 214".
func (t Tries) Words() string {
	switch {
	case t.Most == t.Least:
		return model.Count(t.Least)
	case t.Most > t.Least:
		return model.Count(t.Least) + " to " + model.Count(t.Most)
	}
	return model.Count(t.Least) + " at least"
}

// TriesOf counts how often the worker of the queue's flow has had a message: the rejects in it, or else what came back
// from its retry buffers and what it sent into them. From 4.0 the broker does not count the deaths of a message that a
// worker republishes: then its age bounds how often it can have gone round.
func TriesOf(t *model.Topology, m *message.Message, in model.QueueRef, now time.Time) Tries {
	f := RetryFlow(t, in)
	if f == nil {
		return Tries{}
	}
	var came, counted int64 // back from a retry buffer; by the worker itself
	shortest := time.Duration(math.MaxInt64)
	for i := range f.Buffers {
		b := &f.Buffers[i]
		if b.Role != model.RetryBuffer {
			continue
		}
		for _, ref := range b.Queues() {
			came = message.AddCapped(came, deathsIn(m, ref, model.Expired))
		}
		shortest = min(shortest, b.TTL.Or(0))
	}
	for _, h := range message.TriesHeaders {
		if n, ok := m.Headers.Integer(h); ok && n > 0 && n < math.MaxInt32 {
			counted = max(counted, n)
		}
	}
	if n, more, ok := m.Retried(); ok && n < math.MaxInt32 {
		if more && f.Role(in) == model.FailedRole {
			n++ // it counts what came after the first
		}
		counted = max(counted, n)
	}
	rejected := message.AddCapped(deathsIn(m, f.Worker.Queue, model.Rejected),
		deathsIn(m, f.Worker.Queue, model.DeliveryLimit))
	sent := came
	republishes := republishes(t, f)
	if role := f.Role(in); !republishes {
		sent = 0 // each came in by a reject, which is counted
	} else if (role == model.RetryBuffer || role == model.FailedRole) && sent < math.MaxInt64 {
		sent++ // the try that brought it here
		if role == model.FailedRole && len(m.Deaths) == 0 && counted == 0 {
			sent = 0 // it has not been in a buffer, as far as it tells: nobody knows how it came here
		}
	}
	tries := Tries{Least: max(rejected, sent, counted)}
	tries.Most = tries.Least
	if t.Behaviour.CountsRepublishedDeaths || rejected > 0 || counted > 0 || sent == 0 || !republishes {
		return tries
	}
	tries.Most = 0
	tries.Note = fmt.Sprintf("RabbitMQ %s does not count what a worker republishes", t.Snapshot.Overview.Version)
	from, ok := m.PublishedAt()
	if f.Role(in) == model.FailedRole {
		return tries // nobody tells when it came to rest here
	}
	if age := now.Sub(t.Snapshot.Overview.Clock().Local(from)); ok && shortest > 0 && age > 0 {
		tries.Most = max(tries.Least, int64(age/shortest)+1)
	}
	return tries
}

// republishes reports whether a worker's failures come into its retry buffers by being published again: no dead-letter
// exchange leads there.
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
