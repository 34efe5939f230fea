package story

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Wait is how long one message of a buffer waits.
type Wait struct {
	Position int                      // from the head, when peeked at
	ID       string                   // the message_id; "" without one
	Same     message.Fingerprint      // to recognize it in another peek
	TTL      model.Opt[time.Duration] // the lower one of its own and the queue's; unknown: it does not expire
	Due      DueTime                  // when its TTL runs out
	Leaves   DueTime                  // when it leaves: not before those ahead of it, as only the head expires
	Behind   int                      // the position of the message that it waits for; its own when nothing holds it back
	Cut      bool                     // RabbitMQ then drops it
}

// HeldBack reports whether a message ahead of it makes it wait longer than its own TTL.
func (w *Wait) HeldBack() bool { return w.Behind != w.Position }

// Waits is when peeked messages leave their buffer: computed once (Waiting), and valid as long as messages leave only
// by expiry.
type Waits struct {
	Queue    model.QueueRef
	TakenAt  time.Time
	Messages []Wait           // from the head
	Depth    model.Opt[int64] // messages in the queue at that time, without Expired
	// messages that expired while those ahead were held: overdue ones behind a head that was not due
	Expired int64
	TTL     model.Setting[time.Duration] // of the queue
}

// Waiting works out when peeked messages leave. It takes each once, in any order.
type Waiting struct {
	waits   Waits
	told    []toldOfDue // for each message, from the head
	seen    int         // how many of them were seen
	refill  bool        // messages enter the queue more than once in their life
	fifo    bool        // they are in the order of arrival
	expires bool        // at least one of them expires
	head    Sight       // what else is known of the first one
	clock   model.Clock // the broker's
	t       *model.Topology
	passage passage // through levels that delay as one
	before  *Waits  // an earlier peek; nil without one
}

// WaitingIn is for a peek at a queue: the messages at its head, in order. head is what else is known of the first one.
// It is nil for a queue that may have consumers, so that messages do not leave by expiry alone, and for one without
// messages.
func WaitingIn(t *model.Topology, ref model.QueueRef, peeked peek.Peeked, head Sight) *Waiting {
	q := t.Known(ref)
	if q.Type == model.Stream || mayBeConsumed(q) || peeked.Messages.Len() == 0 {
		return nil
	}
	w := Waits{Queue: ref, TakenAt: peeked.TakenAt, Depth: peeked.Depth, TTL: t.Settings(ref).TTL}

	// Held messages do not count: the next one is then at the head, and expires when it is overdue (3.10.8, 4.0.5 and
	// 4.3.6, classic and quorum).
	if depth, known := peeked.Depth.Get(); known && (peeked.Stopped == "" || peeked.Fewer) {
		w.Expired = max(min(depth, int64(peeked.Plan.Limit))-int64(peeked.Messages.Len()), 0)
		w.Depth = model.Some(depth - w.Expired)
	}

	head.Changed = t.TTLChanged(ref)
	_, byPriority := q.Arguments.Integer("x-max-priority")
	// like a retry buffer: then the timestamps of messages do not show when they came
	refilled := slices.ContainsFunc(t.FlowsOf(ref), func(f *model.Flow) bool { return f.Role(ref) == model.RetryBuffer })

	return &Waiting{
		waits:   w,
		told:    make([]toldOfDue, peeked.Messages.Len()),
		refill:  refilled,
		fifo:    !byPriority,
		head:    head,
		clock:   t.Snapshot.Overview.Clock(),
		t:       t,
		passage: passageThrough(t, ref),
	}
}

// mayBeConsumed reports whether a queue has consumers, or may have some while they are unknown (statistics are off, or
// it is new): not if its settings or its name say that messages wait in it.
func mayBeConsumed(q *model.Queue) bool {
	n, known := q.Consumers.Get()
	return n > 0 || !known && !q.Unattended()
}

// After keeps what an earlier peek at the same queue knew of messages that still wait. before may be nil.
func (w *Waiting) After(before *Waits) {
	if w != nil {
		w.before = before
	}
}

// known returns the due times from an earlier peek for messages that still wait: for all by position when nothing has
// left since, otherwise for those in the same stay.
func (w *Waiting) known() func(this *Wait) DueTime {
	if w.before == nil {
		return func(*Wait) DueTime { return DueTime{} }
	}
	was := w.before.Messages
	still := func(this *Wait, d DueTime) DueTime {
		switch {
		case d.Kind == DueEarlierTTL || !d.Time.Before(w.waits.TakenAt):
			return d
		case w.ruled(this) && d.Time.Add(model.ClockTolerance).Before(w.waits.TakenAt):
			return DueTime{Kind: DueEarlierTTL}
		}
		return DueTime{} // it should have left: it has come back, or the broker is late
	}

	if !w.head.Since.IsZero() && !w.head.Since.After(w.before.TakenAt) {
		return func(this *Wait) DueTime {
			if i := this.Position - 1; i < len(was) && was[i].Same == this.Same {
				return still(this, was[i].Due)
			}
			return DueTime{}
		}
	}

	found := map[message.Fingerprint]earlierWait{}
	for i := range was {
		found[was[i].Same] = earlierWait{&was[i], found[was[i].Same].alike + 1}
	}

	return func(this *Wait) DueTime {
		if earlier, ok := found[this.Same]; ok && w.sameStay(earlier, &w.told[this.Position-1]) {
			return still(this, earlier.Due)
		}
		return DueTime{}
	}
}

// ruled reports whether a TTL by policy decides when a message leaves.
func (w *Waiting) ruled(this *Wait) bool {
	_, ofQueue, ok := w.told[this.Position-1].ttl(w.waits.TTL)
	return ok && ofQueue && w.waits.TTL.ByPolicy()
}

// earlierWait is the last one of identical messages in an earlier peek.
type earlierWait struct {
	*Wait
	alike int // how many of them there are
}

// sameStay reports whether a message has been in the queue since the earlier peek: an id, or the time of its death,
// tells it from others, and it enters only once, or changes when it enters again. For others the redelivered flag
// decides, as the polls may not know yet that something left. Only someone peeking at an identical message meanwhile
// could make that wrong.
func (w *Waiting) sameStay(earlier earlierWait, told *toldOfDue) bool {
	if (earlier.ID != "" || told.dated && earlier.alike == 1) && (!w.refill || told.once) {
		return true
	}
	return told.delivered && earlier.alike == 1 && w.waits.TakenAt.Sub(w.before.TakenAt) <= model.StatisticsLag
}

// See adds the message at an index of the peek; 0 is the head. Its body is not needed.
func (w *Waiting) See(i int, m *message.Message) {
	if w == nil {
		return
	}
	told := tellsOfDue(m)
	told.id = strings.Clone(m.Properties.MessageID)
	told.same = m.Fingerprint
	told.cut = cutOnExpiry(w.t, m, w.waits.Queue)
	told.died = w.diedInto(m)
	if w.refill && !told.again {
		told.came = time.Time{}
	}
	if from, to, ok := w.passage.enteredBy(m, w.t); ok {
		told.came, told.late = from, to.Sub(from)
	}

	w.told[i] = told
	w.seen++
	w.fifo = w.fifo && m.Properties.Priority == 0
	_, _, ok := told.ttl(w.waits.TTL)
	w.expires = w.expires || ok || !w.head.Changed.IsZero()
}

// diedInto returns when the broker dead-lettered a message into the queue, by its clock: x-death has the time of its
// first death in another queue, and it has no other there. It is zero where a worker may have republished it since.
func (w *Waiting) diedInto(m *message.Message) time.Time {
	if len(m.Deaths) == 0 || m.Deaths[0].Count != 1 {
		return time.Time{}
	}
	d := &m.Deaths[0]
	from := w.waits.Queue.Beside(d.Queue)
	hop, ok := w.t.Hop(from, d.Reason)
	if !ok || hop.Exchange != m.Exchange || !slices.Contains(hop.Route.Queues, w.waits.Queue) {
		return time.Time{}
	}

	return d.Time
}

// Waits returns when they leave; nil when neither these nor messages behind them expire, or when not all of them were
// seen.
func (w *Waiting) Waits() *Waits {
	if w == nil || !w.expires && w.waits.Expired == 0 || w.seen < len(w.told) {
		return nil
	}
	waits := w.waits
	waits.Messages = make([]Wait, len(w.told))
	known := w.known()
	var after time.Time // all messages from here on came after that
	for i := range w.told {
		told, this := &w.told[i], &waits.Messages[i]
		*this = Wait{
			Position: i + 1,
			ID:       told.id,
			Same:     told.same,
			Behind:   i + 1,
			Cut:      told.cut,
		}

		sight := Sight{At: waits.TakenAt, Clock: w.clock, Changed: w.head.Changed}

		if i == 0 {
			sight.Since = w.head.Since
			sight.After = w.head.After
		}

		sight.After = latest(sight.After, after)
		this.Due = told.due(i > 0, waits.TTL, sight).Narrowed(known(this))
		if ttl, _, ok := told.ttl(waits.TTL); ok {
			this.TTL = model.Some(ttl)
			if w.fifo && !this.Due.Earliest.IsZero() {
				after = latest(after, this.Due.Earliest.Add(-ttl))
			}
		}
	}

	since := waits.TakenAt // all messages up to here came before that
	older := false         // all messages up to here came before one that outlives the queue's TTL
	for i := len(waits.Messages) - 1; i >= 0 && w.fifo; i-- {
		this := &waits.Messages[i]
		older = older || this.Due.Kind == DueEarlierTTL
		if older && w.ruled(this) {
			this.Due = DueTime{Kind: DueEarlierTTL}
		}
		if ttl, ok := this.TTL.Get(); ok && this.Due.Known() {
			since = earliest(since, this.Due.Time.Add(-ttl))
			this.Due = dueWithin(this.Due.Earliest, since.Add(ttl))
		}
	}

	// In a quorum queue of 4.3, each priority expires by itself, but not what was looked at and returned.
	var before *Wait
	for this := range model.Each(waits.Messages) {
		this.Leaves = this.Due
		if before != nil {
			this.hold(before)
		}
		before = this
	}

	return &waits
}

// hold makes a message leave no earlier than the one ahead of it.
func (w *Wait) hold(before *Wait) {
	switch {
	case before.Leaves.Kind == DueUnknown:
		w.Leaves, w.Behind = before.Leaves, before.Behind
		return
	case !w.Due.Known():
		return // it never leaves by itself, or at an unknown time
	case !before.Leaves.Known():
		w.Leaves, w.Behind = before.Leaves, before.Behind
		return
	}

	w.Leaves = dueWithin(latest(w.Due.Earliest, before.Leaves.Earliest), latest(w.Due.Time, before.Leaves.Time))
	if w.Due.Time.Before(before.Leaves.Time) {
		w.Behind = before.Behind
	}
}

// left returns how many messages must have left by now.
func (w *Waits) left(now time.Time) int {
	for i := range w.Messages {
		if l := w.Messages[i].Leaves; !l.Known() || !l.Time.Before(now) {
			return i
		}
	}

	return len(w.Messages)
}

// Head returns the message that leaves next; ok is false when all of them must have left.
func (w *Waits) Head(now time.Time) (head *Wait, ok bool) {
	if i := w.left(now); i < len(w.Messages) {
		return &w.Messages[i], true
	}
	return nil, false
}

// Holds reports whether a newer count of the queue still agrees: no message that should wait longer was taken out. lag
// is the maximum age of a count.
func (w *Waits) Holds(q *model.Queue, lag time.Duration) bool {
	ready, known := q.Ready.Get()
	if !known || q.CountedAt.Before(w.TakenAt.Add(lag)) {
		return true
	}
	if mayBeConsumed(q) {
		return false
	}
	for i := range w.Messages {
		if l := w.Messages[i].Leaves; l.Kind == DueUnknown || l.Earliest.After(q.CountedAt) {
			return ready >= int64(len(w.Messages)-i) // those must still be there
		}
	}

	return true
}

// Blocked is the messages waiting behind one that leaves after they are due.
type Blocked struct {
	By      *Wait // the message that holds the others back
	Past    int   // how many are certainly past their own time now
	Waiting int   // how many wait for it longer than their own TTL, including those past it
	Seen    int   // how many of the peeked messages are still there
}

// Blocked is about the first message that holds others back now; false when none does.
func (w *Waits) Blocked(now time.Time) (Blocked, bool) {
	first := w.left(now)
	b := Blocked{Seen: len(w.Messages) - first}
	by := 0
	for i := first; i < len(w.Messages); i++ {
		m := &w.Messages[i]
		if !m.HeldBack() {
			continue
		}
		if by == 0 {
			by = m.Behind
		}
		if m.Behind != by {
			break
		}
		b.Waiting++
		if m.Due.Known() && m.Due.Time.Before(now) {
			b.Past++
		}
	}

	if by == 0 {
		return Blocked{}, false
	}
	b.By = &w.Messages[by-1]
	return b, true
}

// Words describe it in a sentence: "message 1 (TTL 5s) blocks 4 messages; it leaves in 3.2s; 2 are overdue".
func (b Blocked) Words(now time.Time) string {
	words := model.Sayf("message %v (%s) blocks %v message(s); it %s", int64(b.By.Position), b.By.TTLWords(), b.Waiting,
		b.By.LeavesWords(now))
	switch b.Past {
	case 0:
		return words
	case 1:
		return words + "; 1 is overdue"
	}

	return model.Sayf("%s; %v are overdue", words, int64(b.Past))
}

// TTLWords returns "TTL 5s", "older than the TTL 5s", or "no TTL".
func (w *Wait) TTLWords() string {
	ttl, ok := w.TTL.Get()
	switch {
	case w.Due.Kind == DueEarlierTTL && ok:
		return "older than the TTL " + model.ShortDuration(ttl)
	case w.Due.Kind == DueEarlierTTL:
		return "older than the queue's settings"
	}

	if ok {
		return "TTL " + model.ShortDuration(ttl)
	}

	return "no TTL"
}

// HeadTTLWords are TTLWords of the first message. What expired behind it does not say under which TTL it waits, where a
// policy sets that.
func (w *Waits) HeadTTLWords() string {
	head := &w.Messages[0]
	words := head.TTLWords()
	if head.Due.Known() && w.TTL.ByPolicy() && head.TTL == model.Some(w.TTL.Value) {
		words += ", or an earlier one"
	}
	return words
}

// Older returns how many of the messages wait under an earlier TTL than the queue's.
func (w *Waits) Older() (n int) {
	for m := range model.Each(w.Messages) {
		if m.Due.Kind == DueEarlierTTL {
			n++
		}
	}

	return n
}

// LeavesWords returns "leaves in 3.2s", "never leaves".
func (w *Wait) LeavesWords(now time.Time) string {
	d := w.Leaves
	switch {
	case d.Kind == DueUnknown:
		return "never leaves"
	case d.Kind == DueEarlierTTL:
		return "leaves when an earlier TTL ends, which RabbitMQ does not show"
	case d.Time.Before(now):
		return "leaves now"
	case d.Kind == DueAtMost:
		return "leaves within " + model.ShortDuration(roundedUp(d.Time.Sub(now)))
	}

	return "leaves in " + w.Leaves.In(now)
}
