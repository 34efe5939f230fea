package shell

import (
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/term"
)

// DueTimes remembers, for each buffer that was looked at, when its messages leave, and which came back. Only the root
// adds to it.
type DueTimes struct {
	waits map[model.QueueRef]*story.Waits
	met   map[model.QueueRef]map[string]meeting // by message id
	Dead  map[model.QueueRef]DeadLetters        // of every queue that was looked at
	Seen  model.Seen                            // of all messages; polls read it, so it is never modified
}

// DeadLetters are how many of the messages of a look have a death or an application's error.
type DeadLetters struct{ Dead, Of int }

type meeting struct {
	leaves time.Time // at the latest: if seen there later, it has come back; zero: it does not leave
	back   int       // how often it has come back
}

// expiryLag is how late a busy broker may expire a message.
const expiryLag = time.Second

// mostRemembered bounds how many messages of one look are remembered: about 200 bytes each.
const mostRemembered = 20_000

func NewLooks() *DueTimes {
	return &DueTimes{
		waits: map[model.QueueRef]*story.Waits{}, met: map[model.QueueRef]map[string]meeting{},
		Dead: map[model.QueueRef]DeadLetters{},
	}
}

// Remember stores a new look at a queue; nil when it has no due times.
func (l *DueTimes) Remember(ref model.QueueRef, w *story.Waits) {
	delete(l.waits, ref)
	if w != nil && len(w.Messages) <= mostRemembered {
		l.waits[ref] = w
		l.meet(ref, w)
	}
}

// At returns the last look at a queue; nil without one that knows when messages leave.
func (l *DueTimes) At(ref model.QueueRef) *story.Waits {
	if l == nil {
		return nil
	}
	return l.waits[ref]
}

// meet compares a look with earlier ones. A message that should have left but is there has come back, whatever the
// broker counts.
func (l *DueTimes) meet(ref model.QueueRef, w *story.Waits) {
	before := l.met[ref]
	now := make(map[string]meeting, len(w.Messages))
	for m := range model.Each(w.Messages) {
		if m.ID == "" {
			continue
		}
		this := meeting{leaves: m.Leaves.Time, back: before[m.ID].back}
		if left := before[m.ID].leaves; !left.IsZero() && left.Add(expiryLag).Before(w.TakenAt) {
			this.back++
		}
		now[m.ID] = this
	}

	for id, m := range before {
		if _, again := now[id]; !again && len(now) < mostRemembered {
			now[id] = m
		}
	}

	l.met[ref] = now
}

// Back returns how many of the messages of a look have come back since an earlier one, and which did so most often.
func (l *DueTimes) Back(w *story.Waits) (n int, id string, times int) {
	if l == nil || w == nil {
		return 0, "", 0
	}
	met := l.met[w.Queue]
	for i := range w.Messages {
		m := met[w.Messages[i].ID]
		if m.back == 0 {
			continue
		}
		n++
		if m.back > times {
			id, times = w.Messages[i].ID, m.back
		}
	}

	return n, id, times
}

// in finds the looks that a topology's counts do not contradict.
func (l *DueTimes) in(t *model.Topology) func(model.QueueRef) *story.Waits {
	return func(ref model.QueueRef) *story.Waits {
		w := l.At(ref)
		if q, ok := t.Queue(ref); w == nil || !ok || !w.Holds(q, model.StatisticsLag) {
			return nil
		}
		return w
	}
}

// Failed returns why a queue without a flow is a failed queue, by what a look found in it; "" when it is not. Without a
// look it is unknown: looking has a cost.
func (l *DueTimes) Failed(t *model.Topology, q *model.Queue) string {
	if _, stated := t.StatedRole(q.QueueRef); stated {
		return ""
	}
	if l == nil || l.Dead[q.QueueRef].Dead == 0 || q.Consumers.Or(0) > 0 || len(t.FlowsOf(q.QueueRef)) > 0 {
		return ""
	}
	d := l.Dead[q.QueueRef]
	return model.Sayf("no flow has it, and it has no consumers; failures in %v of %v message(s) read there", d.Dead, d.Of)
}

const FewDeliveries = 5 // left of a delivery limit: a warning

type LooksField struct {
	Left, limit  int64
	Counts, told bool // it limits them; the rest is known from earlier looks
}

func NewLooksField(t *model.Topology, ref model.QueueRef) LooksField {
	var l LooksField
	l.Left, l.limit, l.Counts, l.told = peek.LooksLeftOf(t, ref)
	return l
}

// Field returns "17 of 20", "≤ 20" without an earlier look, and "-" where looks are not limited.
func (l LooksField) Field() term.Span {
	left := fmt.Sprintf("%d of %d", l.Left, l.limit)
	switch {
	case !l.Counts:
		return term.Muted.Span("-")
	case !l.told:
		return term.Text.Span(fmt.Sprintf("≤ %d", l.limit))
	case l.Left <= FewDeliveries:
		return term.Warning.Span(left)
	}

	return term.Text.Span(left)
}

// LooksLeft returns the same in words, "" where looks are not limited.
func LooksLeft(t *model.Topology, ref model.QueueRef) string {
	l := NewLooksField(t, ref)
	switch {
	case !l.Counts:
		return ""
	case !l.told:
		return model.Sayf("at most %v look(s) left (delivery limit)", l.limit)
	}

	return peek.LooksLeft(l.Left, l.limit)
}
