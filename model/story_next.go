package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StoryAhead tells what a message's queue adds to its story: how often its worker has had it, where on a ladder of retries it is, and
// what becomes of it next. wait is what a look told of when it leaves, nil when it does not expire; now is this machine's time.
func (t *Topology) StoryAhead(m *Message, in QueueRef, wait *Wait, now time.Time) []StoryEvent {
	var events []StoryEvent
	if f := t.retryFlow(in); f != nil {
		if tries := t.Tries(m, in, now); tries.Least > 1 || tries.Most > 1 {
			events = append(events, StoryEvent{Kind: StoryTries, What: tries.Words(), Note: tries.Note})
		}
		if words := ladderWords(f, m, in); words != "" {
			events = append(events, StoryEvent{Kind: StoryLadder, What: words})
		}
	}
	return append(events, t.next(m, in, wait, now))
}

// next is what becomes of a message without anybody doing something.
func (t *Topology) next(m *Message, in QueueRef, wait *Wait, now time.Time) StoryEvent {
	e := StoryEvent{Kind: StoryNext}
	q, ok := t.queues[in]
	if !ok {
		e.What = "the queue is gone"
		return e
	}
	if n := q.Consumers.Or(0); n > 0 {
		e.What = "a consumer takes it"
		return e
	}
	if wait == nil || wait.Due.Kind == DueUnknown && !wait.HeldBack() {
		e.What = "stays: nothing expires it"
		return e
	}
	leaves := wait.Leaves
	at := "in " + leaves.In(now)
	switch {
	case leaves.Kind == DueUnknown:
		e.What = "stays"
		e.Note = fmt.Sprintf("behind message %d, which nothing expires", wait.Behind)
		return e
	case leaves.Time.Before(now):
		at = "by now"
	}
	if leaves.Kind == DueExact {
		e.Time, e.TimeExact = leaves.Time, true
	}
	dlx := t.settings[in].DLX
	reached := t.DeadLetter(in, m.keys(), m.Headers).Queues
	switch {
	case !dlx.Set:
		e.What = "is dropped " + at
		e.Note = "the queue has no dead-letter exchange"
	case len(reached) == 0:
		e.What = "is lost " + at
		e.Note = "through " + ExchangeName(dlx.Value) + ", where no queue takes it"
	default:
		e.Where, e.Detail = listOr(reached, ""), at
		e.Note = "through " + ExchangeName(dlx.Value)
	}
	if wait.HeldBack() {
		e.Note += fmt.Sprintf("; it waits behind message %d", wait.Behind)
	}
	return e
}

// keys are a message's routing keys: its own first, then those of CC. The broker has taken BCC off.
func (m *Message) keys() []string {
	keys := []string{m.RoutingKey}
	if cc, ok := m.Headers["CC"].([]any); ok {
		for _, v := range cc {
			if key, ok := text(v); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// retryFlow is the flow of a queue in which messages are tried again; nil when there is none.
func (t *Topology) retryFlow(in QueueRef) *Flow {
	for _, f := range t.flowsOf[in] {
		if slices.ContainsFunc(f.Buffers, func(b Buffer) bool { return b.Role == RetryBuffer }) {
			return f
		}
	}
	return nil
}

// ladderWords are the retry buffers of a flow in the order of their TTLs, with what a message has passed and where it is: "10s ✓ › 1m
// ✓×2 › ▸5m". It is "" for a flow with fewer than two.
func ladderWords(f *Flow, m *Message, in QueueRef) string {
	var rungs []*Buffer
	for i := range f.Buffers {
		if b := &f.Buffers[i]; b.Role == RetryBuffer && b.TTL.Known() && len(b.Levels) == 0 {
			rungs = append(rungs, b)
		}
	}
	if len(rungs) < 2 {
		return ""
	}
	slices.SortStableFunc(rungs, func(a, b *Buffer) int { return cmp.Compare(a.TTL.Or(0), b.TTL.Or(0)) })
	words := make([]string, len(rungs))
	for i, b := range rungs {
		word := ShortDuration(b.TTL.Or(0))
		switch passed := m.deathsIn(b.Queue, Expired); {
		case passed > 1:
			word += fmt.Sprintf(" ✓×%s", Count(passed))
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

// deathsIn is how often a message died in a queue for a reason, as far as it tells.
func (m *Message) deathsIn(queue QueueRef, reason Reason) int64 {
	var n int64
	for i := range m.Deaths {
		if d := &m.Deaths[i]; d.Queue == queue.Name && d.Reason == reason {
			n = addCapped(n, d.times())
		}
	}
	return n
}
