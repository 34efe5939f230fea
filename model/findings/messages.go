package findings

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
)

// Reading finds what only the messages of a queue show. It takes each once, in any order, and finds delivery counts
// near the limit, copies that a replay does not restore, and heads that block messages which are due earlier.
type Reading struct {
	queue  model.QueueRef
	checks []messageCheck
	ways   *story.Ways
}

// ReadingOf is for peeking at a queue. waiting must have seen the same messages before Found is called; nil if the
// caller reports blocking heads in its own way.
func ReadingOf(t *model.Topology, ref model.QueueRef, takenAt time.Time, waiting *story.Waiting) *Reading {
	r := &Reading{queue: ref, ways: story.WaysFrom(t, ref)}
	q, ok := t.Queue(ref)
	if !ok {
		return r
	}
	if waiting != nil {
		r.checks = append(r.checks, &blockingHead{waiting, takenAt})
	}

	here := queue{q, t.Settings(ref)}
	r.checks = append(r.checks, &nearDeliveryLimit{
		queue:   here,
		rescued: t.Behaviour.ReturnCountsAsDelivery,
	}, &copies{}, &publishersAhead{
		clock:   t.Snapshot.Overview.Clock(),
		takenAt: takenAt,
	}, newPoison(t, q, takenAt), &released{queue: q, behaviour: t.Behaviour}, &strays{
		r.ways,
		here,
	}, dropped{r.ways}, newFading(t, q))

	return r
}

// See examines a message, with its body up to message.MaxEnvelope.
func (r *Reading) See(m *message.Message) {
	for _, check := range r.checks {
		check.inspect(m)
	}
}

// Seen returns the queues that the messages go to by their own keys, by the queue that they leave.
func (r *Reading) Seen() model.Seen { return r.ways.Seen() }

// Found returns the findings about the messages seen.
func (r *Reading) Found() []Finding {
	var findings []Finding
	for _, check := range r.checks {
		if f, ok := check.finding(); ok {
			f.VHost, f.Queue = r.queue.VHost, r.queue.Name
			findings = append(findings, f.completed())
		}
	}

	return findings
}

// In takes the messages of a peek. It stops at the first message that cannot be read.
func In(t *model.Topology, ref model.QueueRef, peeked peek.Peeked) *Reading {
	var waiting *story.Waiting
	if t.Settings(ref).DLX.Set { // otherwise they wait for nothing
		waiting = story.WaitingIn(t, ref, peeked, story.Sight{})
	}

	reading := ReadingOf(t, ref, peeked.TakenAt, waiting)
	i := 0
	_ = message.Each(peeked.Messages, message.MaxEnvelope, func(m *message.Message) {
		reading.See(m)
		waiting.See(i, m)
		i++
	})

	return reading
}

// messageCheck examines the messages of a queue one by one, then reports what is wrong.
type messageCheck interface {
	inspect(m *message.Message)
	finding() (Finding, bool)
}

// Heads returns the buffers in which a message is likely to hold up those behind it, which only a peek shows: several
// messages wait there, with their own TTLs, with priorities, or some of them under an earlier TTL than the policy's.
// all adds those with a TTL by argument: a message may have a shorter one of its own.
func Heads(t *model.Topology, all bool) (refs []model.QueueRef) {
	for q := range t.EachQueue() {
		ttl := t.Settings(q.QueueRef).TTL
		_, priorities := q.Arguments["x-max-priority"]
		if (all || !ttl.Set || ttl.ByPolicy() || priorities) && q.Ready.Or(2) > 1 && t.IsBuffer(q.QueueRef) {
			refs = append(refs, q.QueueRef)
		}
	}

	return refs
}

// blockingHead: a queue only expires messages at its head. A message whose own TTL ends before that of one ahead of it
// waits for that one (all versions). A TTL of the queue is the same for all, so it blocks nothing, unless a priority
// changes the order, or the one ahead waits under an earlier TTL.
type blockingHead struct {
	waiting *story.Waiting
	takenAt time.Time
}

func (*blockingHead) inspect(*message.Message) {} // waiting does it

func (h *blockingHead) finding() (Finding, bool) {
	waits := h.waiting.Waits()
	if waits == nil {
		return Finding{}, false
	}
	blocked, blocks := waits.Blocked(h.takenAt)
	if older := waits.Older(); older > 0 && (!blocks || blocked.By.Due.Kind == story.DueEarlierTTL) {
		return h.older(waits, older, blocked), true
	}

	f := Finding{Code: "head-of-line-blocked", Remedy: blockedRemedy(waits)}
	switch {
	case blocks:
		f.Message = blocked.Words(h.takenAt)
		f.Evidence = spell("%v of %v messages that were read are overdue; message %v has %s", blocked.Past, blocked.Seen,
			blocked.By.Position, blocked.By.TTLWords())
		if blocked.By.Due.Kind == story.DueUnknown {
			f.Level = LevelError
		}
	case waits.Expired > 0:
		head := &waits.Messages[0]
		f.Message = spell("%v message(s) (was|were) overdue behind message 1 (%s), and expired while the look held it",
			waits.Expired, waits.HeadTTLWords())
		f.Evidence = spell("%v message(s) counted, %v read, the others were due; it %s", waits.Expired+
			int64(len(waits.Messages)), len(waits.Messages), head.LeavesWords(h.takenAt))
	}

	return f, f.Message != ""
}

// older returns the finding about messages that wait under an earlier TTL than the queue's.
func (h *blockingHead) older(waits *story.Waits, older int, blocked story.Blocked) Finding {
	f := Finding{
		Code:      "earlier-ttl",
		Happening: true,
		Message: spell("%v message(s) (is|are) older than the TTL %s, and still there: (it waits|they wait) under an "+
			"earlier TTL, until a time that RabbitMQ does not show", older, waits.TTL),
		Evidence: spell("of %v message(s) that were read, by their timestamps, x-death and earlier polls",
			len(waits.Messages)),
		Remedy: earlierTTLRemedy,
	}

	held := int64(blocked.Waiting) + waits.Expired
	if held > 0 {
		f.Message += spell("; %v message(s) (is|are) behind %s", held, agree(older, "it", "them"))
	}

	return f
}

const earlierTTLRemedy = "a TTL by policy holds for messages that arrive after it was set: wait, or replay or move " +
	"those that came before it, which frees what is behind them"

// blockedRemedy returns what helps against a head that holds up others. Only the head expires, and the highest priority
// is the head.
func blockedRemedy(waits *story.Waits) string {
	switch {
	case waits.TTL.ByPolicy():
		return "leave expirations and priorities out where the queue has a TTL, or use one buffer for each; if the " +
			"policy's TTL was changed, replay what came before that"
	case waits.TTL.Set:
		return "leave expirations and priorities out where the queue has a TTL, or use one buffer for each"
	}

	return "use one buffer for each TTL, with the TTL on the queue and no priorities: then no message waits for another"
}

// nearDeliveryLimit: a quorum queue drops or dead-letters a message when its delivery count exceeds the limit.
type nearDeliveryLimit struct {
	queue   queue
	rescued bool // messages at the limit are rescued: their copies count from 0

	near int
	most int64
}

func (l *nearDeliveryLimit) inspect(m *message.Message) {
	limit := l.queue.DeliveryLimit
	if l.queue.Type != model.Quorum || !limit.Set || limit.Value < 0 {
		return
	}
	n := m.Delivered() // not the header alone: on a message that was never delivered, its publisher wrote it
	if n == 0 || l.rescued && n >= limit.Value {
		return
	}
	l.most = max(l.most, n)
	if n >= limit.Value-2 {
		l.near++
	}
}

func (l *nearDeliveryLimit) finding() (Finding, bool) {
	becomes := "lost"
	if l.queue.DLX.Set {
		becomes = "dead-lettered"
	}

	return Finding{
		Code:     "delivery-count-near-limit",
		Message:  spell("%v message(s) (is|are) near the delivery limit: %s after one or two more returns", l.near, becomes),
		Evidence: spell("x-delivery-count up to %v, delivery-limit %s", l.most, l.queue.DeliveryLimit),
	}, l.near > 0
}

// copies: CC and BCC sent copies to further queues. A replay leaves these headers out, so that queues which had their
// copy do not get another.
type copies struct{ n int }

func (c *copies) inspect(m *message.Message) {
	if m.Headers["CC"] != nil || m.Headers["BCC"] != nil {
		c.n++
	}
}

func (c *copies) finding() (Finding, bool) {
	return Finding{
		Code: "copies",
		Message: spell("%v message(s) (was|were) copied to further queues by CC: a replay removes CC, so that (its|their) "+
			"copies are not sent again", c.n),
		Evidence: "header CC or BCC",
	}, c.n > 0
}
