package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Copy identifies what an application published together with a queue that a copy of it was sent to: two messages with
// the same Copy would be processed twice there.
type Copy uint64

// sentCopy is a copy sent to a queue, identified by what was published and by its failure.
type sentCopy struct{ message, failure Copy }

// CopySet identifies what a message becomes in each queue that it is sent to; the zero value identifies nothing.
type CopySet struct {
	original message.Original
	sent     []sentCopy
}

// CopySetOf identifies the copies of a message in these queues.
func CopySetOf(m *message.Message, reached []model.QueueRef) (c CopySet) {
	var ok bool
	if c.original, ok = m.Original(); !ok {
		return c
	}

	for _, q := range reached {
		of := func(f message.Fingerprint) Copy {
			sum := sha256.Sum256([]byte(string(f[:]) + q.VHost + "\x00" + q.Name))
			return Copy(binary.BigEndian.Uint64(sum[:]))
		}
		c.sent = append(c.sent, sentCopy{of(c.original.Message), of(c.original.Failure)})
	}

	return c
}

// List returns what the journal keeps about them.
func (c CopySet) List() (copies []Copy) {
	for _, s := range c.sent {
		copies = append(copies, s.message, s.failure)
	}
	return copies
}

// Doubles are the copies that earlier replays have sent, or that planned ones will send first. Nil has none.
type Doubles struct {
	copies  map[Copy]sentCopies
	senders []Sender
}

// sentCopies are those of one message: by the last sender, and how many in all.
type sentCopies struct {
	sender, messages uint32
	unsure           bool // the last one may not have been sent, and its original may still be in its queue
}

// Sender is a replay that sent copies, or will.
type Sender struct {
	From   model.QueueRef
	Began  time.Time // zero: it has not begun yet
	Marked bool      // its messages carry ReplayHeader
	Record int64     // the last of the records that resume each other; 0: not in the journal, or it is running
}

// NewDoubles is empty.
func NewDoubles() *Doubles { return &Doubles{copies: map[Copy]sentCopies{}} }

// Sender adds a replay, to which the copies added next belong; later replays take precedence.
func (d *Doubles) Sender(s Sender) { d.senders = append(d.senders, s) }

// Add adds a copy of the last sender. sure: it was sent, and its original was taken out of its queue.
func (d *Doubles) Add(c Copy, sure bool) {
	d.copies[c] = sentCopies{uint32(len(d.senders) - 1), d.copies[c].messages + 1, !sure}
}

// Sent implements around.Replayed.
func (d *Doubles) Sent(m *message.Message, to model.QueueRef) (times model.Opt[int]) {
	for _, c := range CopySetOf(m, []model.QueueRef{to}).sent {
		times = model.Some(int(d.copies[c.message].messages))
	}
	return times
}

// Expect adds the copies that an earlier replay in the same batch will send.
func (d *Doubles) Expect(t *model.Topology, want ActionWant) {
	want.Sent, want.sends = d, new([]Copy)
	want.Canary, want.Mend = 0, nil
	if p := New(t, want); p.Refusal.Refused() {
		return
	}
	d.Sender(Sender{From: want.From, Marked: want.Mark})
	for _, c := range *want.sends {
		d.Add(c, false)
	}
}

// SparesDoubles reports whether copies of replayed messages stay where they are.
func (p *Plan) SparesDoubles() bool { return p.Operation == Replay && !p.Doubles }

// SparesDoubles is Plan.SparesDoubles for the plan that will be made.
func (w *ActionWant) SparesDoubles() bool { return w.Operation == Replay && !w.Doubles }

// HoldsDoubles reports whether some messages stay because they are copies.
func (p *Plan) HoldsDoubles() bool {
	double := func(o model.Objection) bool { _, is := o.(Double); return is }
	return p.Doubles || slices.ContainsFunc(p.Refusal, double) || slices.ContainsFunc(p.Warnings, func(w Warning) bool {
		return slices.ContainsFunc(w.Stay, double)
	})
}

// warnOfCopies names other failed queues that have copies of the messages.
func (p *Plan) warnOfCopies(t *model.Topology) {
	if !p.SparesDoubles() {
		return
	}
	for _, f := range t.FlowsOf(p.From) {
		others := t.FailedTogether(f.Worker.Queue)
		if at := slices.Index(others, p.From); at >= 0 {
			p.warn(warning("messages rejected by %s also arrive in %s: copies of what is replayed stay there", f.Worker.Queue,
				slices.Delete(others, at, at+1)))
		}
	}
}

// mostIDs bounds how many messages of a queue are kept for comparison with later ones.
const mostIDs = 500_000

// Doubling finds doubles among the messages of one queue, from its head.
type Doubling struct {
	doubles *Doubles
	from    model.QueueRef
	met     map[Copy]bool   // for messages with an id
	used    map[Copy]uint32 // for those without: as many of them are doubles as were sent
	resumes time.Time       // when the first of the records that are resumed began; zero: none is
	// for a plan:
	ids    map[string]message.Fingerprint
	sends  []Copy
	differ int // messages with another one's id but different content
	again  replayedBefore
}

// replayedBefore are messages that failed again without a mark: something published them once more.
type replayedBefore struct {
	messages    int
	first, last time.Time // when the replays began that sent them before
}

func (r *replayedBefore) add(began time.Time) {
	if r.messages++; r.messages == 1 || began.Before(r.first) {
		r.first = began
	}
	if began.After(r.last) {
		r.last = began
	}
}

func (r *replayedBefore) warning() Warning {
	day := func(t time.Time) string { return t.Local().Format("2 January 2006") }
	when := "on " + day(r.first)
	if last := day(r.last); last != day(r.first) {
		when = "from " + day(r.first) + " to " + last
	}
	return warning("%v (was|were) replayed before, %s: what came since has no mark of a replay, and is replayed as a new "+
		"failure", r.messages, when)
}

// NewDoubling begins at the head of a queue. Nil doubles have no copies.
func NewDoubling(d *Doubles, from model.QueueRef) *Doubling {
	if d == nil {
		d = NewDoubles()
	}
	return &Doubling{doubles: d, from: from, met: map[Copy]bool{}, used: map[Copy]uint32{}}
}

// planDoubling also collects what the plan warns of.
func planDoubling(want *ActionWant) *Doubling {
	d := NewDoubling(want.Sent, want.From)
	d.ids = map[string]message.Fingerprint{}
	return d
}

// Resumes says that the messages were in the queue when a record began, which is resumed.
func (d *Doubling) Resumes(began time.Time) { d.resumes = began }

func (d *Doubling) write(p *Plan, want *ActionWant) {
	if d.differ > 0 {
		p.warn(warning("%v message(s) with the message_id of another one, but different: no copies of each other, and all "+
			"are replayed", d.differ))
	}

	if d.again.messages > 0 {
		p.warn(d.again.warning())
	}
	if want.sends != nil {
		*want.sends = d.sends
	}
}

// Against returns the objection to sending these copies of a message; nil when none of them was sent before.
func (d *Doubling) Against(m *message.Message, copies CopySet) model.Objection {
	if len(copies.sent) == 0 {
		return nil
	}

	o, again := &copies.original, Sender{}
	if id := m.Properties.MessageID; id != "" && d.ids != nil {
		if first, met := d.ids[id]; !met {
			d.ids[id] = o.Message
		} else if first != o.Message {
			d.differ++
		}
	}

	for _, c := range copies.sent {
		if d.met[c.message] {
			return Double{Queue: d.from}
		}
		sent, known := d.doubles.copies[c.message]
		if !known {
			continue
		}
		by := d.doubles.senders[sent.sender]
		if d.isCopy(m, c, sent, o.ByID) {
			held := Double{Queue: by.From}
			if sent.unsure {
				held.Record = by.Record
			}
			return held
		}

		if by.From == d.from && o.ByID && !marked(m) {
			again = by
		}
	}

	if !again.Began.IsZero() {
		d.again.add(again.Began)
	}

	for _, c := range copies.sent {
		if o.ByID && len(d.met) < mostIDs {
			d.met[c.message] = true
		}
		if d.ids != nil {
			d.sends = append(d.sends, c.message, c.failure)
		}
	}

	return nil
}

func marked(m *message.Message) bool {
	_, is := message.Opening(m).Message.ReplayMark()
	return is
}

// isCopy reports whether a message is one of those sent, and not one that failed afterwards. A message without an id is
// never a copy of another one in its own queue. Neither is one whose original certainly left this queue, unless its
// deaths are those of the original: what is here came later.
func (d *Doubling) isCopy(m *message.Message, c sentCopy, s sentCopies, byID bool) bool {
	by := d.doubles.senders[s.sender]
	here := by.From == d.from
	if !byID && (here || d.used[c.message] >= s.messages) {
		return false
	}
	_, same := d.doubles.copies[c.failure]
	same = same && by.Marked && !(here && len(m.Deaths) == 0)
	if !by.Began.IsZero() && !same {
		after, known := m.FailedAfter(by.Began)
		resumed := !d.resumes.IsZero() && !by.Began.Before(d.resumes)
		left := here && !s.unsure || !by.Marked
		if after || !known && left && !resumed {
			return false
		}
	}

	if !byID {
		d.used[c.message]++
	}

	return true
}
