package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// UndoPlan is how a record is undone: data that can be printed and shown before anything is done.
type UndoPlan struct {
	Record   Record
	Back     model.QueueRef // the queue that the messages go back to
	Into     Recipient
	User     string
	Restores int    // messages in the journal that are published into that queue
	Takes    []Take // for each queue that messages were sent to: those still there are taken back
	Skips    []Skip // what is not undone, and why
	Risks
	// Uncertain is how many messages may be in their queue already. Only a look makes sure: UndoWant.There.
	Uncertain int
	Positions []int   // of the entries that it publishes from the journal, in order
	Known     []int64 // as in Claim
	Delayed   bool    // RabbitMQ holds some of them back in Back, where no peek finds them
}

// Planned returns how many messages may come back: those of Takes only if no consumer has taken them.
func (p *UndoPlan) Planned() int {
	n := p.Restores
	for i := range p.Takes {
		n += p.Takes[i].Planned
	}
	return n
}

// Expected returns the warnings, plus what it takes back and what it does not undo, worded like those of other actions.
func (p *UndoPlan) Expected() []Warning {
	all := slices.Clone(p.Warnings)
	for take := range model.Each(p.Takes) {
		how := " when no consumer has taken it"
		if take.Undoing.Gone.Restores() {
			how = ", from the journal when its limit has dropped it"
		}
		all = append(all, warning("%v message(s) sent to %s: brought back%s", take.Planned, take.From, how))
	}

	for _, skip := range p.Skips {
		all = append(all, warning("not undone: %v message(s) %s", skip.Messages, skip.Words()))
	}

	return all
}

// Claim returns what the undo claims before it publishes from the journal.
func (p *UndoPlan) Claim() Claim { return Claim{Positions: p.Positions, Known: p.Known} }

type UndoWant struct {
	Record  Record
	Entries func(func(*Entry) error) error // calls the function with each entry of the record
	User    string                         // the connected user
	Broker  string                         // the connected broker, as records name it
	Insist  bool
	// ReadOnly means that the connection is: nothing may be moved.
	ReadOnly bool
	// Found is what became of messages whose earlier undo has an unknown outcome, by the position of the undone entry:
	// moved, untouched (""), or unknown.
	Found map[int]Outcome
	// There are the messages that are in the queue now, by fingerprint; nil without a look.
	There message.Twins
	// Back are the positions of entries whose acknowledgement was lost: their messages are among There.
	Back   []int
	Counts model.CountsByQueue // exact ones, newer than the topology
}

// Barred returns why a topology alone refuses the undo, whatever the record has.
func (w *UndoWant) Barred(t *model.Topology) Refusal {
	r := &w.Record
	q, exists := t.Queue(r.From)
	here := t.Snapshot.Overview.ClusterName
	switch {
	case r.Operation == Undo:
		return Against("%d is an undo itself: replay or drop what it brought back", r.ID)
	case r.Operation == Import:
		return Against("%d is an import: to remove its messages, drop them from %s", r.ID, r.From)
	case r.Running:
		return Refusal{StillRuns(r)}
	case !r.On(w.Broker, here) && !w.Insist:
		return Refusal{DoneElsewhere(r, w.Broker, here, ", or insist if it is the same one under another name")}
	case !exists:
		return Against("there is no queue %s here any more: declare it again, or look at its vhost, then undo", r.From)
	case q.Outage() != model.NoOutage:
		return Refusal{targetDown(q)}
	}

	return nil
}

// ForUndo plans how a record is undone. An error comes from reading the entries.
func ForUndo(t *model.Topology, want UndoWant) (UndoPlan, error) {
	r := &want.Record
	p := UndoPlan{Record: *r, Back: r.From, User: want.User}
	p.Into = RecipientOf(t, r.From)
	p.Into.Insisted = want.Insist
	if p.Refusal = want.Barred(t); p.Refusal.Refused() {
		return p, nil
	}

	b := undoBuilder{
		plan:     &p,
		topology: t,
		there:    maps.Clone(want.There),
		looked:   want.There != nil,
		back:     want.Back,
		takes:    map[string]*taking{},
		left:     map[string]bool{},
		tally:    newTally(nil),
	}

	err := want.Entries(func(e *Entry) error {
		if why := b.sortEntry(e, want.Found); why.Kind != "" {
			b.skip(why, 1)
		}
		return nil
	})

	if err == nil {
		b.finish(t, &want)
	}

	return p, err
}

// undoBuilder sorts the entries of a record by what can be done about them.
type undoBuilder struct {
	plan     *UndoPlan
	topology *model.Topology
	there    message.Twins
	looked   bool
	back     []int
	skips    []Skip
	left     map[string]bool
	takes    map[string]*taking // by target queue
	ways     []string           // the queues in the order of their first entry
	timed    int                // messages with an expiration
	sizes    []int64            // of the bodies that are restored
	tally    *tally             // their tally
}

// taking is what was sent to one queue.
type taking struct {
	sent    []Sought
	keys    map[string]bool // the keys that it was sent with
	unkept  bool            // the journal does not have all of them whole
	largest int64           // size of a body in bytes
}

func (t *taking) add(e *Entry) {
	t.sent = append(t.sent, Sought{e.Position, e.Sent.Fingerprint})
	t.keys[e.Sent.To.RoutingKey] = true
	if t.unkept = t.unkept || e.Message == nil; e.Message != nil {
		t.largest = max(t.largest, int64(e.Message.BodyBytes))
	}
}

// sortEntry finds out what can be done about an entry; with a kind of Skip, nothing.
func (b *undoBuilder) sortEntry(e *Entry, found map[int]Outcome) Skip {
	r := &b.plan.Record
	outcome, known := found[e.Position]
	if known {
		e.Undoing = nil
	}

	rescue := r.Operation == Rescue // what has no confirmed copy may exist only in the journal
	switch {
	case e.Damaged != "":
		return Skip{Kind: Damaged}
	case known && outcome == Unsure:
		return Skip{Kind: MaybeUndone}
	case e.Undone, outcome == Moved:
		return Skip{Kind: Undone}
	case rescue && e.Outcome == Moved:
		return Skip{Kind: RescuedThere}
	case !rescue && (e.Outcome == Refused || e.Outcome == Returned || e.Outcome == "" && !r.Ended.IsZero()):
		return Skip{Kind: NeverTaken}
	case e.Claimed > 0:
		return Skip{Kind: UndoneNow, By: e.Claimed}
	case (e.Outcome == Moved || e.Outcome == Dropped) && slices.Contains(b.back, e.Position):
		if e.Sent != nil {
			return Skip{Kind: Back, Queues: e.Sent.Reached}
		}
		return Skip{Kind: Back}
	}

	for _, a := range e.Undoing {
		if !slices.Contains(b.plan.Known, a.By) {
			b.plan.Known = append(b.plan.Known, a.By)
		}
	}

	if e.Outcome == "" || e.Outcome == Unsure || len(e.Undoing) > 0 {
		if b.plan.Uncertain++; b.isThere(e) {
			return Skip{Kind: There}
		}
	}

	headers := e.formerHeaders()
	if _, hidden := delayed(b.topology, headers); hidden && len(e.Undoing) > 0 {
		return Skip{Kind: MaybeUndone}
	}
	b.noteLoss(e)
	expiration := ""
	restored := e.Sent == nil || rescue
	switch {
	case restored && e.Message == nil:
		return Skip{Kind: NotKept}
	case restored:
		_, left := Restoring(e.Message, b.plan.Back.Name, b.plan.User)
		for _, part := range left {
			b.left[part] = true
		}

		expiration = e.Message.Properties.Expiration
		b.plan.Restores++
		b.sizes = append(b.sizes, int64(e.Message.BodyBytes))
		b.plan.Positions = append(b.plan.Positions, e.Position)
	case len(e.Sent.Reached) != 1:
		return Skip{Kind: SentToMany, Queues: e.Sent.Reached}
	default:
		to := e.Sent.Reached[0]
		if b.takes[to] == nil {
			b.ways = append(b.ways, to)
			b.takes[to] = &taking{keys: map[string]bool{}}
		}
		expiration = e.Sent.Former.Expiration
		b.takes[to].add(e)
	}

	if expiration != "" {
		b.timed++
	}

	b.tally.copied(b.topology, e.Message, headers)
	return Skip{}
}

// noteLoss records when a restored message would be lost if it left its queue as a dead letter: its key is then the
// queue's name.
func (b *undoBuilder) noteLoss(e *Entry) {
	p, headers := b.plan, model.Table(nil)
	if e.Message != nil {
		headers = e.Message.Headers
	}

	own := func() [][]string { return [][]string{message.WithCC(e.Address.RoutingKey, headers)} }
	f := loss.OfSecondFailure(b.topology, p.Back, p.Back.Name, headers, headers, own)
	if f != nil && !f.Same && len(p.Again) == 0 {
		p.Again = append(p.Again, *f)
	}
}

func (b *undoBuilder) skip(why Skip, messages int) {
	same := func(s Skip) bool {
		return s.Kind == why.Kind && s.By == why.By && slices.Equal(s.Queues, why.Queues)
	}
	i := slices.IndexFunc(b.skips, same)
	if i < 0 {
		i = len(b.skips)
		b.skips = append(b.skips, why)
	}

	b.skips[i].Messages += messages
}

// isThere reports whether the message is in its queue: as it was, as an earlier undo published it, or as its rescue
// did.
func (b *undoBuilder) isThere(e *Entry) bool {
	copies := []message.Fingerprint{e.Fingerprint}
	for _, a := range e.Undoing {
		copies = append(copies, a.Sent)
	}
	if b.plan.Record.Operation == Rescue && e.Sent != nil {
		copies = append(copies, e.Sent.Fingerprint)
	}

	for _, f := range copies {
		if b.there[f] > 0 {
			b.there[f]--
			return true
		}
	}

	return false
}

func (b *undoBuilder) finish(t *model.Topology, want *UndoWant) {
	p := b.plan
	slices.Sort(p.Positions)
	p.Delayed = b.tally.delayed.messages > 0
	p.Warnings = append(p.Warnings, warnOfAlarms(t)...)
	for _, name := range b.ways {
		b.planTake(t, name, want)
	}

	p.Skips = slices.SortedFunc(slices.Values(b.skips), func(a, b Skip) int { return cmp.Compare(a.Words(), b.Words()) })
	if left := slices.Sorted(maps.Keys(b.left)); len(left) > 0 {
		p.warn(warning("without %s: RabbitMQ does not let clients set that again",
			quoteList(left)))
	}

	for i := range p.Record.Account.Copies {
		p.warn(Warning{Says: p.Record.Account.Copies[i].Words()})
	}

	for _, s := range p.Record.Account.Strayed {
		p.warn(warning("up to %v message(s) may also be in %s: those stay there", s.Messages, s.Queue))
	}

	if b.timed > 0 {
		p.warn(warning("%v message(s) with an expiration of its own: its time begins again", b.timed))
	}

	p.Warnings = append(p.Warnings, b.tally.copyWarnings(true, t.Snapshot.TakenAt)...)
	p.Refusal = b.unrecognized(want)
	b.limits(t, want)
	if !p.Refusal.Refused() && p.Planned() == 0 {
		p.Refusal = Refusal{NothingLeft{p.Skips, p.Record.Account.Copies}}
	}
}

// unrecognized refuses undos that must find messages which no look was made for, or which cannot be recognized.
func (b *undoBuilder) unrecognized(want *UndoWant) Refusal {
	p, r := b.plan, &b.plan.Record
	switch {
	case r.OtherPrints && len(p.Takes) > 0:
		return Against("the messages of the %s %d cannot be recognized where they were sent to: an earlier version made "+
			"their fingerprints in another way; `dlxtop journal show %[2]d` lists them, and `dlxtop move` brings back what is "+
			"still there", r.Operation, r.ID)
	case p.Uncertain == 0 || want.Insist:
		return nil
	case r.OtherPrints:
		return Refusal{model.Saidf("%v message(s) may already be in the queue, and cannot be recognized there: an earlier "+
			"version made their fingerprints in another way; look for them (`dlxtop journal show %d` lists them), then "+
			"insist to bring back all the same, which may make duplicates", p.Uncertain, r.ID).Insisting(thereTwice)}
	case !b.looked:
		return Refusal{maybeThere(p.Uncertain)}
	}

	return nil
}

// planTake plans to take back from one queue what was sent there.
func (b *undoBuilder) planTake(t *model.Topology, name string, want *UndoWant) {
	p, took := b.plan, b.takes[name]
	ref := p.Back.Beside(name)
	q, exists := t.Queue(ref)
	if !exists {
		b.skip(Skip{Kind: TargetGone, Queues: []string{name}}, len(took.sent))
		return
	}

	slices.SortStableFunc(took.sent, func(a, b Sought) int { return cmp.Compare(a.Position, b.Position) })
	u := &Undoing{
		Record: p.Record.ID,
		Back:   p.Back,
		User:   want.User,
		Known:  p.Known,
		Sent:   took.sent,
	}

	plan := Plan{
		Operation: Undo, From: ref, User: want.User, Planned: len(took.sent),
		Selection: Nobody(), // Run.Grant fills them in
		Delays:    p.Delayed, Options: Options{KeepDelay: p.Delayed},
		Acquire: peek.For(t, ref, peek.Want{
			Limit: max(int(q.Ready.Or(0)), len(took.sent)), Insist: want.Insist, ForAction: true,
		}),
		Recipients: []Recipient{p.Into},
	}

	u.Gone = goneWhy(t, ref, took, want)

	if !plan.Acquire.Allowed() {
		b.skip(Skip{Kind: TargetUnread, Queues: []string{name}, Look: plan.Acquire.Refusal}, len(took.sent))
		return
	}

	if n := q.Consumers.Or(0); u.Gone != GoneLimit && (u.Gone != GoneTaken || n > 0) {
		p.warn(warning(goneWords[u.Gone].warning, ref, model.Plural(n, "consumer")))
	}

	p.Takes = append(p.Takes, Take{plan, u})
}

func quoteList(names []string) string {
	out := ""
	for i, name := range names {
		if i == 5 {
			return model.Sayf("%s and %v more", out, len(names)-i)
		}
		if i > 0 {
			out += ", "
		}
		out += model.Printable(name)
	}

	return out
}
