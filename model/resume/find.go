package resume

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// resumption works out what happened to the messages of a record whose outcome is unknown.
type resumption struct {
	topology *model.Topology
	want     *Want
	intent   *plan.Intent // of the first record; nil: not kept
	source   model.QueueRef
	planWas  int         // messages to act on when the first record began
	looked   []peek.Plan // looks that were made

	items   []item     // what may still be in the source, in the order of acquisition
	seen    []sighting // those of them that are there, from its head
	pending []*pending
	certain tally                 // without the pending ones
	lost    *plan.LostAcks        // for the last record; nil: none are possible
	done    []*pending            // the last messages recorded as moved or dropped
	back    []message.Fingerprint // those of them that are in the source again
	// sureBack: back are these messages, not others of the same content
	sureBack bool
	copies   map[string]*targetCopies // by target
	named    map[string]int           // messages by message_id
	died     map[death]bool           // where marked copies were, before they came to a queue that was looked at
	rank     int
	depth    int64 // messages in the source
	held     bool  // a consumer may hold further messages of the source
	// unsettled: a target could not be read, or others hold messages of it
	unsettled bool
	// consumers of the source when it was looked at, newer than the topology
	consumers model.Opt[int64]
	undo      plan.UndoWant               // for an undo: what it undoes, and which of it the queue has now
	lines     map[int]message.Fingerprint // for an import: the messages that were acted on, by their number in the file
}

// tally counts the messages that need no more work.
type tally struct {
	gone      int           // messages removed for good
	acted     int           // messages that were acted on
	originals message.Twins // the same
	stay      message.Twins // those of them that are in the source, and stay there
	numbers   map[int]bool  // their positions
}

func (t *tally) clone() *tally {
	return &tally{t.gone, t.acted, maps.Clone(t.originals), maps.Clone(t.stay), maps.Clone(t.numbers)}
}

// add counts a message that needs no more work.
func (t *tally) add(original message.Fingerprint, position int) {
	t.acted++
	t.originals[original]++
	t.numbers[position] = true
}

// remove uncounts a message that was not removed after all.
func (t *tally) remove(original message.Fingerprint, position int) {
	t.gone--
	t.acted--
	t.originals[original]--
	delete(t.numbers, position)
}

// leave counts a message that stays where it is.
func (t *tally) leave(original message.Fingerprint, position int) {
	t.add(original, position)
	t.stay[original]++
}

// total returns how many messages these are.
func total(counts message.Twins) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// sighting is a message of the source that may have been acted on.
type sighting struct {
	fingerprint message.Fingerprint
	position    int64
}

// item is a message that was acted on.
type item struct {
	fingerprint message.Fingerprint
	position    int      // that it had
	pending     *pending // nil: it was refused or returned, and is still in place
}

// death is a queue in which a copy has died, and the copy's message_id.
type death struct{ queue, id string }

// verdict is what is known about a message.
type verdict int

const (
	maybe verdict = iota
	yes
	no
)

type pending struct {
	record   int64
	position int
	id       string
	only     bool // no other message has its id
	original message.Fingerprint
	sent     *message.Fingerprint // nil: it was dropped, not published
	to       model.Address
	reached  []string
	rank     int     // in the order of publishing
	undoes   int     // for an undo: the position of the entry it undoes
	arrived  verdict // whether it is in its target
	there    verdict // whether it is in its source
	unread   string  // why its target could not be read; "" when it was
	copyIn   string  // a queue that has its copy, printable; "" for none
	lackedBy string  // a queue that exists, and in which its copy was not found, printable; "" for none
}

func newResumption(t *model.Topology, want *Want) *resumption {
	first := &want.Chain[0]
	last := &want.Chain[len(want.Chain)-1]

	f := &resumption{
		topology: t,
		want:     want,
		intent:   first.Intent,
		planWas:  first.Planned,
		copies:   map[string]*targetCopies{},
		named:    map[string]int{},
		died:     map[death]bool{},
		lines:    map[int]message.Fingerprint{},
		certain: tally{
			originals: message.Twins{}, stay: message.Twins{}, numbers: map[int]bool{},
		},
	}

	switch {
	case f.intent != nil:
		f.source = f.intent.Source
	case last.Operation != plan.Undo && last.Operation != plan.Import:
		f.source = last.From
	}

	f.lost = last.LostAcks(t, f.source)
	return f
}

// note sorts in one entry of a record.
func (f *resumption) note(r *plan.Record, e *plan.Entry) {
	f.lines[e.Position] = e.Fingerprint
	f.rank++
	f.named[e.MessageID]++
	switch {
	case e.Outcome == "" && !r.Ended.IsZero(): // untouched
		return
	case e.Outcome == plan.Moved || e.Outcome == plan.Dropped:
		f.certain.gone++
		f.certain.add(e.Fingerprint, e.Position)
		if e.Sent != nil {
			for _, to := range e.Sent.Reached {
				f.copiesIn(to).certain(e.Sent.Fingerprint, f.rank, r.ID)
			}
		}

		if r.Unfinished() && f.lost.Recorded(e) {
			f.done = plan.Last(f.done, f.pendingOf(r, e))
		}

		return
	case e.Outcome == plan.Refused || e.Outcome == plan.Returned:
		f.items = append(f.items, item{e.Fingerprint, e.Position, nil})
		f.certain.leave(e.Fingerprint, e.Position)
		return
	}

	p := f.pendingOf(r, e)
	f.pending = append(f.pending, p)
	f.items = append(f.items, item{e.Fingerprint, e.Position, p})
}

func (f *resumption) pendingOf(r *plan.Record, e *plan.Entry) *pending {
	p := &pending{
		record:   r.ID,
		position: e.Position,
		id:       e.MessageID,
		original: e.Fingerprint,
		rank:     f.rank,
		undoes:   e.Undoes,
	}

	if e.Sent != nil {
		sent := e.Sent.Fingerprint
		p.sent, p.to, p.reached = &sent, e.Sent.To, e.Sent.Reached
	}

	return p
}

func (f *resumption) copiesIn(queue string) *targetCopies {
	c := f.copies[queue]
	if c == nil {
		c = newTargetCopies()
		f.copies[queue] = c
	}

	return c
}

// find examines the source and, if questions remain, the targets.
func (f *resumption) find(ctx context.Context) error {
	if len(f.pending) == 0 && len(f.done) == 0 {
		return nil
	}
	if f.source.Name != "" {
		if err := f.lookAtSource(ctx); err != nil {
			return err
		}
	}

	if f.source.Name == "" || len(f.seen) > 0 || f.held {
		f.lookAtTargets(ctx)
	}

	if f.source.Name != "" {
		f.place()
		f.takeBack()
	}

	return nil
}

// takeBack corrects the last messages recorded as moved or dropped: they are, or may be, in their queue again.
func (f *resumption) takeBack() {
	back := f.done[len(f.done)-len(f.back):]
	for _, p := range back {
		f.certain.remove(p.original, p.position)
		if f.sureBack {
			p.there = yes
		}
		if p.sent != nil {
			p.arrived = yes // it was recorded after its copy was confirmed
		}
	}

	f.pending = slices.Concat(back, f.pending)
}

// lookAtSource sees the messages of the source that may be pending or were left there.
func (f *resumption) lookAtSource(ctx context.Context) error {
	wanted := map[message.Fingerprint]bool{}
	for _, i := range f.items {
		wanted[i.fingerprint] = true
	}

	look := peek.ToDecide(f.topology, f.source, f.want.Insist, f.want.ReadOnly)
	if !look.Allowed() {
		return model.Errorf("look for them in %v: %s", f.source, look.Refusal.Words())
	}
	f.looked = append(f.looked, look)
	others, stopped, err := plan.Whole(ctx, f.want, look, func(m *message.Message) error {
		f.lost.See(m)
		f.noteDeaths(m)
		f.depth++
		if wanted[m.Fingerprint] {
			f.seen = append(f.seen, sighting{m.Fingerprint, f.depth})
		}
		return nil
	})

	f.back, f.sureBack = f.lost.Back()
	back := message.Twins{}
	for _, name := range f.back {
		back[name]++
	}

	f.seen = slices.DeleteFunc(f.seen, func(s sighting) bool {
		back[s.fingerprint]--
		return back[s.fingerprint] >= 0
	})

	n := int64(len(f.back))
	for i := range f.seen {
		f.seen[i].position -= n
	}

	f.depth -= n
	f.held = others.Hold
	f.consumers = others.Consumers
	if err == nil && stopped != "" {
		err = model.Errorf("look for them in %v: %s", f.source, stopped)
	}

	return err
}

// lookAtTargets reads the queues that pending messages were sent to.
func (f *resumption) lookAtTargets(ctx context.Context) {
	for _, p := range f.pending {
		p.only = p.id != "" && f.named[p.id] == 1
		for _, to := range p.reached {
			if p.sent != nil {
				f.copiesIn(to).expect(*p.sent, p)
			}
		}
	}

	for name, c := range f.copies {
		if len(c.expected) > 0 {
			c.mark = f.mark()
			c.unread = f.look(ctx, name, c)
			c.judge()
		}
	}

	for _, p := range f.pending {
		p.arrived = f.verdict(p)
	}
}

// mark returns the replay's name; "": its messages are not marked.
func (f *resumption) mark() string {
	if f.intent == nil || !f.intent.Mark {
		return ""
	}
	return f.intent.MarkName
}

// noteDeaths notes the queues that had a copy. One that a full queue refused may have died there, too
// (reject-publish-dlx).
func (f *resumption) noteDeaths(m *message.Message) {
	if !m.MarkedBy(f.mark()) {
		return
	}
	for _, d := range m.Deaths {
		if d.Reason != model.MaxLen {
			f.died[death{d.Queue, m.Properties.MessageID}] = true
		}
	}
}

// look reads one target. It returns why it could not be read, "" when it was.
func (f *resumption) look(ctx context.Context, name string, c *targetCopies) (unread string) {
	ref := model.QueueRef{VHost: f.want.Chain[0].From.VHost, Name: name}
	shown := model.Printable(name)
	q, exists := f.topology.Queue(ref)
	if c.gone = !exists; c.gone {
		return fmt.Sprintf("%s does not exist any more", shown)
	}
	look := peek.ToDecide(f.topology, ref, f.want.Insist, f.want.ReadOnly)
	if !look.Allowed() {
		return fmt.Sprintf("%s cannot be read: %s", shown, look.Refusal.Words())
	}
	f.looked = append(f.looked, look)
	others, unread := f.read(ctx, look, c)
	if unread != "" {
		f.unsettled = true
		return unread
	}

	// One that consumed when the topology was read may have taken copies, and be gone since. A node that has just started
	// has no statistics of quorum queues yet: then only the queue itself counts its consumers.
	c.consumers = cmp.Or(q.Consumers, others.Consumers).Or(1) > 0 || others.Consumers.Or(0) > 0
	if f.intent != nil && f.intent.KeepDelay {
		return "RabbitMQ may keep its copy back in " + shown + ", until the time in " +
			message.DeliveryTimeHeader
	}
	c.untouched = q.Consumers.Known() && !c.consumers && f.untouched(q, c)
	for _, n := range f.topology.Snapshot.Nodes {
		if !n.Running {
			f.unsettled = true
			return model.Sayf("the node %v does not run: when it only stands still, a copy may yet come from there to %s",
				n.Name, shown)
		}
	}

	return ""
}

// read counts the copies in a target. It returns why they are not all that are there, "" when they are.
func (f *resumption) read(ctx context.Context, look peek.Plan, c *targetCopies) (others plan.Others, unread string) {
	shown := model.Printable(look.Queue.Name)
	read, err := f.want.Read(ctx, look, func(m *message.Message) error {
		c.count(m)
		f.noteDeaths(m)
		return nil
	})

	switch {
	case err != nil:
		return others, model.Sayf("%s could not be read: %v", shown, err.Error())
	case read.Stopped != "":
		return others, fmt.Sprintf("%s could not be read to its end: %s", shown, read.Stopped)
	}

	others, err = plan.OthersAt(ctx, f.want, look, int64(c.seen))
	switch {
	case err != nil:
		unread = model.Sayf("whether others hold messages of %s is unknown: %v", shown, err.Error())
	case others.Hold:
		unread = fmt.Sprintf("others hold messages of %s, or have just given some back: its copy may be among them",
			shown)
	}

	return others, unread
}

// untouched reports whether nothing can have been taken from a target that has no consumers now: it had none when the
// record began, the broker's counts show that nothing was taken since, and no copy certain to have arrived is missing.
func (f *resumption) untouched(q *model.Queue, c *targetCopies) bool {
	s := f.topology.Settings(q.QueueRef)
	drops := s.TTL.Set || s.DropsHead() // without a consumer
	if f.intent == nil || drops || c.missing() {
		return false
	}
	i := slices.IndexFunc(f.intent.Recipients, func(r plan.Recipient) bool { return r.Queue == q.QueueRef })
	if i < 0 || f.intent.Recipients[i].Consumers.Or(1) > 0 {
		return false
	}
	before, known := f.intent.Recipients[i].Taken.Get()
	return !known || q.Taken().Or(before) <= before
}

// verdict reports whether a message has arrived: yes if each of its target queues has it, or had it before it died
// there, no if it is certainly missing from one of them. A copy in one queue is no proof for another: that one may be
// full and refuse what the others keep, or its node may have failed.
func (f *resumption) verdict(p *pending) verdict {
	lacks := maybe
	for _, to := range p.reached {
		c := f.copies[to]
		v := c.verdicts[p]
		if v == yes || p.only && f.died[death{to, p.id}] {
			p.copyIn = model.Printable(to)
			continue
		}

		if v == no {
			lacks = no
		}
		if !c.gone {
			p.lackedBy = model.Printable(to)
		}
		if c.unread != "" {
			p.unread = c.unread
		}
	}

	// Where a queue lacks it, an exchange on the way may have chosen another one.
	if p.copyIn == "" || p.lackedBy != "" &&
		f.topology.Route(f.source.VHost, p.to.Exchange, []string{p.to.RoutingKey}, nil).Exact {
		return lacks
	}
	return yes
}
