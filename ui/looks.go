package ui

import (
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/story"
)

// looks remembers, of each buffer that somebody looked at, when its messages leave, and which came back. Only the root
// adds to it.
type looks struct {
	waits map[model.QueueRef]*story.Waits
	met   map[model.QueueRef]map[string]meeting // by message id
	dead  map[model.QueueRef]deadLetters        // of every queue that somebody looked at
	seen  model.Seen                            // the ways of all messages; polls read it, so it is never changed
}

// deadLetters are how many of the messages of a look have a death or an error of an application.
type deadLetters struct{ dead, of int }

// meeting is that a message was seen in a buffer.
type meeting struct {
	leaves time.Time // at the latest: seen there later, it has come back; zero: it does not leave
	back   int       // how often it has come back
}

// expiryLag is how late a busy broker may expire a message.
const expiryLag = time.Second

// mostRemembered bounds how many messages are remembered of one look: about 200 bytes each.
const mostRemembered = 20_000

func newLooks() *looks {
	return &looks{
		waits: map[model.QueueRef]*story.Waits{}, met: map[model.QueueRef]map[string]meeting{},
		dead: map[model.QueueRef]deadLetters{},
	}
}

// remember takes a new look at a queue in; nil when there is nothing to tell of it.
func (l *looks) remember(ref model.QueueRef, w *story.Waits) {
	delete(l.waits, ref)
	if w != nil && len(w.Messages) <= mostRemembered {
		l.waits[ref] = w
		l.meet(ref, w)
	}
}

// at is the last look at a queue; nil when there was none that tells when messages leave.
func (l *looks) at(ref model.QueueRef) *story.Waits {
	if l == nil {
		return nil
	}
	return l.waits[ref]
}

// meet compares a look with earlier ones. A message that was to have left and is there has come back, whatever the
// broker counts.
func (l *looks) meet(ref model.QueueRef, w *story.Waits) {
	before, now := l.met[ref], make(map[string]meeting, len(w.Messages))
	for i := range w.Messages {
		m := &w.Messages[i]
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

// back is how many of the messages of a look have come back since an earlier one, and which did so most often.
func (l *looks) back(w *story.Waits) (n int, id string, times int) {
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
func (l *looks) in(t *model.Topology) func(model.QueueRef) *story.Waits {
	return func(ref model.QueueRef) *story.Waits {
		w := l.at(ref)
		if q, ok := t.Queue(ref); w == nil || !ok || !w.Holds(q, model.StatisticsLag) {
			return nil
		}
		return w
	}
}

// failed tells why a queue that no flow has is a failed queue by what a look found in it; "" when it is none. What is
// not looked at is not known: looking costs.
func (l *looks) failed(t *model.Topology, q *model.Queue) string {
	if l == nil || l.dead[q.QueueRef].dead == 0 || q.Consumers.Or(0) > 0 || len(t.FlowsOf(q.QueueRef)) > 0 {
		return ""
	}
	d := l.dead[q.QueueRef]
	return fmt.Sprintf("no flow has it, and it has no consumers; failures in %s of %s read there", model.Count(d.dead),
		model.Plural(d.of, "message"))
}
