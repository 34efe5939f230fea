package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Ahead returns what a message's queue adds to its story: how often its worker has had it, its position on a ladder of
// retries, what happens to it next, and when its worker runs it at the earliest. wait is when it leaves, as a peek
// found, nil when it does not expire; now is this machine's time.
func Ahead(t *model.Topology, m *message.Message, in model.QueueRef, wait *Wait, now time.Time) []Event {
	var events []Event
	tries := TriesOf(t, m, in, now)
	if e, ok := failedHere(t, m, in); ok {
		events = append(events, e)
	} else if tries.Least > 1 || tries.Most > 1 {
		events = append(events, Event{Kind: Tried, What: tries.Words(), Note: tries.Note})
	}
	if words := ladderWords(RetryFlow(t, in), m, in); words != "" {
		events = append(events, Event{Kind: Ladder, What: words})
	}

	events = append(events, next(t, m, in, wait, now))
	if e, ok := runs(m, now); ok {
		events = append(events, e)
	}

	return events
}

func next(t *model.Topology, m *message.Message, in model.QueueRef, wait *Wait, now time.Time) Event {
	e := Event{Kind: Next}
	q, ok := t.Queue(in)
	if !ok {
		e.What = "the queue is gone"
		return e
	}

	consumers, known := q.Consumers.Get()
	switch {
	case consumers > 0:
		e.What = "a consumer takes it"
		return e
	case wait == nil && !known:
		e.What = "depends on consumers, which are unknown"
		return e
	case wait == nil || wait.Due.Kind == DueUnknown && !wait.HeldBack():
		e.What = "stays: it does not expire"
	case wait.Leaves.Kind == DueUnknown:
		e.What, e.Note = "stays", fmt.Sprintf("behind message %d, which does not expire", wait.Behind)
	default:
		if wait.Leaves.Kind == DueExact {
			e.Time, e.TimeExact = wait.Leaves.Time, true
		}
		expires(&e, t, q, m, wait, now)
		if wait.HeldBack() {
			e.Note += fmt.Sprintf("; it waits behind message %d", wait.Behind)
		}
		if wait.Leaves.Kind == DueEarlierTTL {
			e.Note += "; " + olderWords(t.Settings(in).TTL)
		}
	}

	if !known {
		e.Note = strings.TrimPrefix(e.Note+"; the queue's consumers are unknown", "; ")
	}

	return e
}

// olderWords say why it is unknown when messages leave that are older than the TTL of their queue.
func olderWords(ttl model.Setting[time.Duration]) string {
	if !ttl.Set {
		return "an earlier TTL holds for what came before the queue's policy changed"
	}
	return "older than the queue's TTL " + ttl.String() + ": an earlier one holds for what came before"
}

// expires says where a message goes when it expires. It only says that the message is then lost if nothing takes it
// before, and no queue keeps it.
func expires(e *Event, t *model.Topology, q *model.Queue, m *message.Message, wait *Wait, now time.Time) {
	at := "in " + wait.Leaves.In(now)
	switch {
	case wait.Leaves.Kind == DueEarlierTTL:
		at = "at an unknown time"
	case wait.Leaves.Time.Before(now):
		at = "by now"
	}

	s := t.Settings(q.QueueRef)
	route := t.DeadLetter(q.QueueRef, message.WithCC(m.RoutingKey, m.Headers), m.Headers)
	through := "through " + model.ExchangeName(s.DLX.Value)
	arrives := arrivals(route.Queues, q.QueueRef, diedSince(t, m, q.QueueRef))
	arrived := func(ref model.QueueRef) bool { return slices.Contains(arrives, ref) }
	back := model.Names(model.Without(route.Queues, arrived))

	if len(arrives) > 0 {
		e.Where = model.Names(arrives)
		e.Detail = at
		e.Note = through
		if back != "" {
			e.Note += "; not to " + back + ", where it has been, and was not rejected since"
		}
		return
	}

	what := "expires " + at
	switch {
	case back != "" && s.KeepsDeadLetters():
		what += ", and stays in this queue"
		e.Note = "it would return to " + back + ", and was not rejected since; dead-letter-strategy at-least-once"
	case back != "":
		e.Note = "it would return to " + back + ", and was not rejected since: RabbitMQ drops it"

		if q.Consumers.Known() {
			what = "is dropped " + at
		}
	case !s.DLX.Set && !q.NoDLX(s):
		e.Note = "the queue's policy is still unknown"
	case !s.DLX.Set:
		what = "is dropped " + at
		e.Note = "the queue has no dead-letter exchange"
	case route.Unread || !route.Exact:
		e.Note = through + "; " + route.Why
	case s.KeepsDeadLetters():
		what += ", and stays until a queue takes it"
		e.Note = through + ", where no queue takes it; dead-letter-strategy at-least-once"
	default:
		e.Note = through + ", where no queue takes it"
		if q.Consumers.Known() {
			what = "is lost " + at
		}
	}

	e.What = what
}

// RetryFlow returns the flow of a queue whose messages are retried; nil without one.
func RetryFlow(t *model.Topology, in model.QueueRef) *model.Flow {
	for _, f := range t.FlowsOf(in) {
		if f.Retries() {
			return f
		}
	}

	return nil
}

// ladderWords returns the retry buffers of a flow in the order of their TTLs, with those that a message has passed and
// the one that it is in: "10s ✓ › 1m ✓×2 › ▸5m". It is "" for a flow with fewer than two.
func ladderWords(f *model.Flow, m *message.Message, in model.QueueRef) string {
	if f == nil {
		return ""
	}
	var rungs []*model.Buffer
	for _, b := range f.Buffers {
		if b.Role == model.RetryBuffer && b.TTL.Known() && len(b.Levels) == 0 {
			rungs = append(rungs, b)
		}
	}

	if len(rungs) < 2 {
		return ""
	}
	slices.SortStableFunc(rungs, func(a, b *model.Buffer) int { return cmp.Compare(a.TTL.Or(0), b.TTL.Or(0)) })
	words := make([]string, len(rungs))
	for i, b := range rungs {
		word := model.ShortDuration(b.TTL.Or(0))
		passed := deathsIn(m, b.Queue, model.Expired)
		switch {
		case passed > 1:
			word += model.Sayf(" ✓×%v", passed)
		case passed == 1:
			word += " ✓"
		}

		if b.Queue == in {
			word = "▸" + word
		}

		words[i] = word
	}

	return strings.Join(words, " › ")
}

func deathsIn(m *message.Message, queue model.QueueRef, reason model.Reason) int64 {
	var n int64
	for d := range model.Each(m.Deaths) {
		if d.Queue == queue.Name && d.Reason == reason {
			n = message.AddCapped(n, d.Times())
		}
	}

	return n
}
