package model

import (
	"fmt"
	"maps"
	"slices"
)

// Undoing is the part of a record that one execution takes back from a queue: what was sent there, by fingerprint.
type Undoing struct {
	Record int64    // that is taken back
	Back   QueueRef // the queue that the messages go back to
	User   string   // the connected user
	Sent   map[Fingerprint][]*Entry
}

// Copy is one that can be used up.
func (u *Undoing) Copy() *Undoing {
	other := *u
	other.Sent = maps.Clone(u.Sent)
	return &other
}

// publishing is what brings a message back that was sent, and lets go of its entry: each is used once. Twins are interchangeable.
func (u *Undoing) publishing(m *Message) (Publishing, error) {
	e := u.next(m.Fingerprint)
	if e == nil {
		return Publishing{}, fmt.Errorf("the journal does not know this message")
	}
	was := *m
	if e.Message != nil {
		was = *e.Message
	} else {
		e.Sent.Former.restore(&was)
	}
	p, _ := was.Restoring(u.Back.Name, u.User)
	p.Reaches = []QueueRef{u.Back}
	return p, nil
}

func (u *Undoing) next(f Fingerprint) *Entry {
	entries := u.Sent[f]
	if len(entries) == 0 {
		return nil
	}
	u.Sent[f] = entries[1:]
	return entries[0]
}

// Undoes is the position of the entry that acting on m takes back, 0 when this is no undo.
func (p *Plan) Undoes(m *Message) int {
	if p.Undoing == nil || len(p.Undoing.Sent[m.Fingerprint]) == 0 {
		return 0
	}
	return p.Undoing.Sent[m.Fingerprint][0].Position
}

// UndoPlan is how a record is taken back: data that can be printed and shown before anything is done.
type UndoPlan struct {
	Record   Record
	Back     QueueRef // the queue that the messages go back to
	User     string
	Restores int    // messages that the journal holds, and that are published into that queue
	Takes    []Plan // for each queue that messages were sent to: those that are still there are taken back
	Skips    []Skip // what is not undone, and why
	Warnings []string
	Refusal  string // why it must not run, "" when it may
	// Uncertain is how many messages may be in their queue already. To be sure, somebody has to look: UndoWant.There.
	Uncertain int

	restore map[int]bool // positions
}

// Skip is why some messages are not undone.
type Skip struct {
	Messages int
	Why      string
}

// Planned is how many messages may come back: those of Takes only when no consumer has taken them.
func (p *UndoPlan) Planned() int {
	n := p.Restores
	for i := range p.Takes {
		n += p.Takes[i].Planned
	}
	return n
}

// Restored reports whether the plan publishes the message of this entry from the journal.
func (p *UndoPlan) Restored(e *Entry) bool { return p.restore[e.Position] }

// UndoWant is what is to be undone.
type UndoWant struct {
	Record  Record
	Entries func(func(*Entry) error) error // calls with each entry of the record
	User    string                         // the connected user
	Broker  string                         // the connected broker, as records name it
	Insist  bool
	// There are the messages that are in the queue now, by fingerprint; nil when nobody has looked. It is used up.
	There map[Fingerprint]int
}

// PlanUndo plans how a record is taken back. The error is that of reading the entries.
func (t *Topology) PlanUndo(want UndoWant) (UndoPlan, error) {
	r := &want.Record
	p := UndoPlan{Record: *r, Back: r.From, User: want.User, restore: map[int]bool{}}
	switch _, exists := t.queues[r.From]; {
	case r.Operation == Undo:
		p.Refusal = fmt.Sprintf("%d is an undo itself: replay or drop what it brought back", r.ID)
	case r.Operation == Import:
		p.Refusal = fmt.Sprintf("%d is an import: drop its messages from %s, if they are to go", r.ID, Printable(r.From.String()))
	case r.Running:
		p.Refusal = fmt.Sprintf("the %s %d is still running: wait for its end, or stop it", r.Operation, r.ID)
	case r.Broker != want.Broker && !want.Insist:
		p.Refusal = fmt.Sprintf("it was done on %s, and this is %s: connect to that broker, or insist when it is the same one by another name", Printable(r.Broker), Printable(want.Broker))
	case !exists:
		p.Refusal = fmt.Sprintf("there is no queue %s here any more: declare it again, or look at its vhost, then undo", Printable(r.From.String()))
	}
	if p.Refusal != "" {
		return p, nil
	}
	b := undoBuilder{plan: &p, there: want.There, looked: want.There != nil, skips: map[string]int{}, takes: map[string][]*Entry{}}
	if err := want.Entries(b.add); err != nil {
		return p, err
	}
	b.finish(t, &want)
	return p, nil
}

// undoBuilder sorts the entries of a record by what can be done about them.
type undoBuilder struct {
	plan   *UndoPlan
	there  map[Fingerprint]int
	looked bool
	skips  map[string]int
	left   map[string]bool
	takes  map[string][]*Entry // by the queue that they went to
	ways   []string            // the queues in the order of their first entry
	timed  int                 // messages with an expiration
}

func (b *undoBuilder) add(e *Entry) error {
	r := &b.plan.Record
	switch {
	case e.Undone:
		b.skips["brought back before"]++
		return nil
	case e.Outcome == Refused || e.Outcome == Returned || e.Outcome == "" && !r.Ended.IsZero():
		b.skips["never taken out of the queue"]++
		return nil
	}
	if e.Outcome == "" || e.Outcome == Unsure || len(e.Undoing) > 0 {
		b.plan.Uncertain++
		if b.isThere(e) {
			b.skips["in the queue already: what became of it was not known before"]++
			return nil
		}
	}
	switch {
	case e.Sent == nil && e.Message == nil:
		b.skips["not kept by the journal"]++
	case e.Sent == nil:
		if b.left == nil {
			b.left = map[string]bool{}
		}
		_, left := e.Message.Restoring(b.plan.Back.Name, b.plan.User)
		for _, part := range left {
			b.left[part] = true
		}
		if e.Message.Properties.Expiration != "" {
			b.timed++
		}
		b.plan.Restores++
		b.plan.restore[e.Position] = true
	case len(e.Sent.Reached) != 1:
		b.skips[fmt.Sprintf("sent to %d queues (%s): drop it there, if it is to go", len(e.Sent.Reached), quoteList(e.Sent.Reached))]++
	default:
		to := e.Sent.Reached[0]
		if b.takes[to] == nil {
			b.ways = append(b.ways, to)
		}
		if e.Sent.Former.Expiration != "" {
			b.timed++
		}
		kept := *e
		b.takes[to] = append(b.takes[to], &kept)
	}
	return nil
}

// isThere reports whether the message is in its queue, as it was or as an earlier undo published it.
func (b *undoBuilder) isThere(e *Entry) bool {
	for _, f := range append([]Fingerprint{e.Fingerprint}, e.Undoing...) {
		if b.there[f] > 0 {
			b.there[f]--
			return true
		}
	}
	return false
}

func (b *undoBuilder) finish(t *Topology, want *UndoWant) {
	p := b.plan
	for _, name := range b.ways {
		b.take(t, name, want)
	}
	for _, why := range slices.Sorted(maps.Keys(b.skips)) {
		p.Skips = append(p.Skips, Skip{b.skips[why], why})
	}
	if left := slices.Sorted(maps.Keys(b.left)); len(left) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("without %s: the broker does not let anybody set that again", quoteList(left)))
	}
	if b.timed > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s with an expiration of its own, which begins anew", Plural(b.timed, "message")))
	}
	if !b.looked && p.Uncertain > 0 && !want.Insist {
		p.Refusal = fmt.Sprintf("of %s it is not known whether it is in the queue already, and not all of the queue could be looked at: it could be there twice; insist to bring it back nevertheless", Plural(p.Uncertain, "message"))
	}
	if p.Refusal == "" && p.Planned() == 0 {
		p.Refusal = "there is nothing to undo"
		for _, skip := range p.Skips {
			p.Refusal += fmt.Sprintf("; %d %s", skip.Messages, skip.Why)
		}
	}
}

// take plans to take back from one queue what was sent there.
func (b *undoBuilder) take(t *Topology, name string, want *UndoWant) {
	p, entries := b.plan, b.takes[name]
	ref := QueueRef{p.Back.VHost, name}
	q, exists := t.queues[ref]
	if !exists {
		b.skips[fmt.Sprintf("sent to %s, which does not exist any more", Printable(name))] += len(entries)
		return
	}
	u := &Undoing{Record: p.Record.ID, Back: p.Back, User: want.User, Sent: make(map[Fingerprint][]*Entry, len(entries))}
	chosen := make(map[Fingerprint]int, len(entries))
	for _, e := range entries {
		u.Sent[e.Sent.Fingerprint] = append(u.Sent[e.Sent.Fingerprint], e)
		chosen[e.Sent.Fingerprint]++
	}
	plan := Plan{
		Operation: Undo, From: ref, User: want.User, Planned: len(entries), Selection: Selection{Fingerprints: chosen}, Undoing: u,
		Acquire:    t.PlanPeek(ref, PeekWant{Limit: max(int(q.Ready.Or(0)), len(entries)), Insist: want.Insist, ForAction: true}),
		Recipients: []Recipient{{Queue: p.Back}},
	}
	if plan.Acquire.Refusal != "" {
		b.skips[fmt.Sprintf("sent to %s: %s", Printable(name), plan.Acquire.Refusal)] += len(entries)
		return
	}
	if n, known := q.Consumers.Get(); known && n > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s on %s: what was taken from there cannot be undone", Plural(n, "consumer"), Printable(name)))
	}
	p.Takes = append(p.Takes, plan)
}

func quoteList(names []string) string {
	out := ""
	for i, name := range names {
		if i == 5 {
			return out + fmt.Sprintf(" and %d more", len(names)-i)
		}
		if i > 0 {
			out += ", "
		}
		out += Printable(name)
	}
	return out
}
