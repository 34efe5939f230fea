package plan

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/around"
	"github.com/dlxtop/dlxtop/model/carry"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/target"
)

type Operation string

const (
	Replay Operation = "replay" // publish again, wait for the confirm, then acknowledge
	Move   Operation = "move"   // the same into a selected queue, without a mark: the message stays as it was
	Drop   Operation = "drop"   // acknowledge
	Undo   Operation = "undo"   // bring back what a replay or a drop took out of a queue
	Import Operation = "import" // publish the messages of a file
	// move messages at their delivery limit to the end of their queue, because returning them would lose them
	Rescue Operation = "rescue"
)

// Publishes reports whether an operation publishes what it takes out of a queue.
func (o Operation) Publishes() bool { return o != Drop }

// Plan is an action before it runs: data that can be printed, shown in a dialog and tested without a broker.
type Plan struct {
	Operation  Operation
	From       model.QueueRef
	Acquire    peek.Plan      // how the messages are taken out of From
	Selection  Selection      // which of them
	Target     target.Target  // where a replay or a move goes
	KeyApart   bool           // only --key can give its key: exchange:NAME/KEY would parse as another address
	Planned    int            // how many messages are selected
	Ways       []PlannedWay   // the addresses of a replay, from the sample
	Recipients []Recipient    // every queue that may receive a message of this plan: others are refused during the run
	Strips     []string       // headers and properties that are removed, as they occur in the selected messages
	Resets     []PlannedReset // what is changed because of what a framework wrote, besides Strips
	Groups     []PlannedGroup // where the messages of each framework go; nil with only one kind
	Options
	Delays     bool     // RabbitMQ holds back messages that have message.DeliveryTimeHeader
	KeepDeaths bool     // the death history stays: nothing at the target counts it
	Keeps      []string // headers of the death history that stay, as they occur in the selected messages
	Risks
	Whole bool // the journal keeps the messages whole, because some are or may be lost
	// the connected user: any other user_id is stripped, because the broker refuses it (406)
	User   string
	Canary *Canary       // it begins with one message; nil: with all
	Round  time.Duration // how long a message that fails again takes at most to come back; 0: unknown
	Mended *Mended       // the results of Mend on the sample; nil without a sample
	// addresses of direct reply-to to which some of the first messages want an answer
	Requesters []model.QueueRef
}

// Options are what is chosen about an action, and kept by its record, so that a resume does the same with the rest. All
// but Insist are about messages that are published.
type Options struct {
	Mark      bool          `json:"mark,omitempty"`       // a replay adds ReplayHeader: one that comes back is recognized
	MarkName  string        `json:"mark_name,omitempty"`  // the replay's name in that header, assigned when it runs
	KeepTries bool          `json:"keep_tries,omitempty"` // counters of tries stay as they are
	KeepDelay bool          `json:"keep_delay,omitempty"` // message.DeliveryTimeHeader stays
	Doubles   bool          `json:"doubles,omitempty"`    // copies of replayed messages are replayed, too
	Rate      float64       `json:"rate,omitempty"`       // messages a second at most; 0: as fast as the broker confirms
	StopWhen  float64       `json:"stop_when,omitempty"`  // share of failures that ends it; 0: usual; negative: none
	Insist    bool          `json:"insist,omitempty"`     // the user overrides a refusal, where possible
	Edited    *draft.Draft  `json:"edited,omitempty"`     // published instead of the one selected message
	Mend      *mend.Program `json:"edit,omitempty"`       // changes each message that is published; nil: none is changed
}

// PlannedWay is one address of a replay, and how many messages of the sample go there.
type PlannedWay struct {
	target.Way
	Messages int
}

// ActionWant is what a person or a script wants done.
type ActionWant struct {
	Operation Operation
	From      model.QueueRef
	Selection Selection
	Planned   int // how many messages that is, as far as known
	// selected messages that were peeked at, from which the plan names recipients and strips; nil without any
	Sample message.Messages
	Mode   target.Mode
	Fixed  model.Address // for target.ToQueue and target.ToExchange
	User   string        // the connected user
	Over   time.Duration // the total time, instead of Rate; 0: not used
	Options
	Sent      *Doubles // what was replayed; nil: unknown
	Journaled bool     // the journal records what is done
	// exact counts, newer than the topology, for Plan.Counted, where known
	Counts model.CountsByQueue
	// a replay or a move begins with a canary that is watched this long; CanaryAuto: as long as a failure takes; 0: no
	// canary
	Canary time.Duration
	sends  *[]Copy // collects what the plan sends; nil: not wanted
}

// ToQueue sends the messages to a queue, by its name.
func (w *ActionWant) ToQueue(name string) {
	w.Mode, w.Fixed = target.ToQueue, model.Address{RoutingKey: name}
}

// New makes the plan for an action.
func New(t *model.Topology, want ActionWant) Plan {
	p := Plan{
		Operation: want.Operation,
		From:      want.From,
		Acquire: peek.For(t, want.From, peek.Want{
			Limit: want.depth(t), Insist: want.Insist, ForAction: true, TakesAll: !want.Selection.OneByOne(),
		}),
		Selection: want.Selection,
		Planned:   want.Planned,
		User:      want.User,
		Options:   want.Options,
		Delays:    t.Behaviour.DelaysByHeader,
	}

	p.Mark = want.Mark && want.Operation == Replay
	p.Rate = cmp.Or(want.Rate, spread(want.Planned, want.Over))
	p.Refusal = p.Acquire.Refusal

	if want.Operation == Drop {
		if !want.Journaled {
			p.warn(warning("dropped messages are gone: without the journal there is no undo"))
		}
		if want.Sample != nil {
			tally := newTally(&p)
			// a sample that cannot be read adds nothing
			_ = message.Each(want.Sample, 0, func(m *message.Message) { tally.copied(t, m, m.Headers) })
			tally.write(t.Snapshot.TakenAt)
		}

		return p
	}

	p.Target = target.New(t, want.From, want.Mode, want.Fixed)
	if want.Operation == Move {
		p.prepareMove(t)
	}

	sizes, highest := p.route(t, &want)
	p.nameApart(t)
	p.refuseDown(t)
	p.refuseSlow(t)
	p.limits(t, &want, sizes, highest)
	p.Warnings = append(p.Warnings, warnOfAlarms(t)...)
	p.warnOfRecipients(t)
	p.warnOfCopies(t)

	if want.Canary != 0 {
		p.prepareCanary(t, &want)
	}
	p.prepareBreaker(t)

	return p
}

// refuseSlow refuses plans that would hold messages for too long: those selected one by one are held together, with all
// messages in front of them.
func (p *Plan) refuseSlow(t *model.Topology) {
	if !p.Selection.OneByOne() || p.Rate <= 0 {
		return
	}
	hold, timeout := LongestHold(t, p.From)
	if most := p.Rate * hold.Seconds(); float64(p.Planned) > most+1 {
		p.against(tooSlow(max(int(most), 1), hold, timeout))
	}
}

// limits works out what the recipients' limits drop or refuse and what loses copies that fail again, and refuses the
// plan, unless the user insisted: then the journal keeps messages that may be lost whole, as it also does when not all
// of them were peeked at. sizes are the body sizes of the sampled messages that have a target.
func (p *Plan) limits(t *model.Topology, want *ActionWant, sizes []int64, highest uint8) {
	looked := 0
	if want.Sample != nil {
		looked = want.Sample.Len()
	}

	for _, r := range p.Recipients {
		if r.Queue == p.From {
			continue // as many messages leave it
		}
		a := loss.Arrivals{Messages: r.Messages, Mean: loss.MeanSize(t, p.From), Highest: highest}
		if r.Messages == len(sizes) { // otherwise knowing which of them go there is not worth it
			a.Sizes = sizes
		}

		if more := want.Planned - looked; more > 0 {
			a.Messages = min(r.Messages+more, want.Planned)
			a.AtMost = p.Target.Mode == target.ToAuto || p.Target.Mode == target.ToOrigin
		}

		p.receive(t, r.Queue, a, want.Counts, p.From)
	}

	for i := range p.Full {
		p.Full[i].Beside = p.beside(p.Full[i].Queue)
	}

	p.Whole = want.Insist && want.Journaled && (p.loses() || looked < want.Planned)
	remain := inJournal
	if !want.Journaled {
		remain = nowhere
	}

	p.judge(remain, want.Insist)
}

// beside returns the queues that messages for a queue reach, too.
func (p *Plan) beside(queue model.QueueRef) (found []model.QueueRef) {
	for i := range p.Ways {
		if to := p.Ways[i].Reaches; slices.Contains(to, queue) {
			found = model.UnionOf(found, others(to, queue))
		}
	}
	return found
}

// depth returns how far an action may have to read: to the end of the queue, unless the first messages are asked for.
func (w ActionWant) depth(t *model.Topology) int {
	s := w.Selection
	if s.Limit > 0 && s.Fingerprints == nil && !s.ByContent() {
		return s.Limit
	}

	return max(int(t.Known(w.From).Ready.Or(0)), w.Planned)
}

// route works out where the sample goes, which queues it reaches and what it loses. It returns the sizes of the bodies
// that have a target, and their highest priority.
func (p *Plan) route(t *model.Topology, want *ActionWant) (sizes []int64, highest uint8) {
	var mends mending
	sample := want.Sample
	if sample == nil || sample.Len() == 0 {
		sample = message.MessageList{}
		if p.Target.Mode == target.ToQueue || p.Target.Mode == target.ToExchange {
			sample = message.MessageList{{}}
		}
	} else if p.Mend != nil {
		mends.mended = &Mended{}
	}

	recipients := map[model.QueueRef]int{}
	round := rounds{}
	strips := map[string]bool{}
	keeps := map[string]bool{}
	var problems Refusal
	var failing int
	notes, tally := newResetNotes(p, t, want), newTally(p)
	doubling := planDoubling(want)

	err := message.Each(sample, 0, func(m *message.Message) {
		o, resets := p.reopening(m)
		way := p.Target.WayOf(t, m, o)
		asked, size := mends.try(p, t, m, o, &way)
		notes.group(m, &way)
		if way.Problem == nil && p.SparesDoubles() {
			way.Problem = doubling.Against(m, CopySetOf(m, way.Reaches))
		}

		if way.Problem != nil {
			failing++
			same := func(o model.Objection) bool { return reflect.DeepEqual(o, way.Problem) }
			if len(problems) < target.MostOffered && !slices.ContainsFunc(problems, same) {
				problems = append(problems, way.Problem)
			}
			return
		}

		sizes, highest = append(sizes, size), max(highest, m.Properties.Priority)
		unheard := tally.countWay(t, &way)
		tally.clues(&way)
		headers := o.Message.Headers
		if asked != nil && p.KeepDelay {
			headers = asked.Headers
		}

		tally.copied(t, m, headers)
		for _, ref := range way.Reaches {
			recipients[ref]++
			p.Round = max(p.Round, round.of(t, m, ref))
		}

		p.noteChanges(m, asked, strips, keeps)
		notes.reset(resets, strips)
		if p.Operation == Replay {
			tally.envelope(m)
			tally.parted(t, m)
			notes.arrives(o.Message)
		}

		tally.otherKey(t, m, o.Envelope, &way, unheard)
	})
	if err != nil {
		p.against(model.Saidf("%v: read the queue again", err.Error()))
	}

	for ref, n := range recipients {
		r := RecipientOf(t, ref)
		r.Messages, r.Insisted = n, want.Insist
		p.Recipients = append(p.Recipients, r)
	}

	slices.SortFunc(p.Recipients, func(a, b Recipient) int { return cmp.Compare(a.Queue.Name, b.Queue.Name) })
	doubling.write(p, want)
	tally.write(t.Snapshot.TakenAt)
	notes.write()
	mends.write(p)
	p.Strips, p.Keeps = slices.Sorted(maps.Keys(strips)), slices.Sorted(maps.Keys(keeps))

	switch {
	case failing == 0:
	case failing == sample.Len():
		p.against(problems[0])
	default:
		p.warn(someStay(failing, problems))
	}

	return sizes, highest
}

// Irrevocable reports whether an undo will not bring back some messages, or any at all: it leaves those that reach
// several queues, or none for certain (SentToMany).
func (p *Plan) Irrevocable() (some, all bool) {
	all = len(p.Ways) > 0
	for i := range p.Ways {
		many := len(p.Ways[i].Reaches) != 1
		some, all = some || many, all && many
	}

	return some, all
}

// Counted returns the queues whose exact counts make the plan better (ActionWant.Counts): recipients with a limit,
// queues with one behind them, and requesters.
func (p *Plan) Counted(t *model.Topology) []model.QueueRef {
	var refs []model.QueueRef
	for _, r := range p.Recipients {
		refs = append(refs, r.Queue)
	}

	return append(loss.Limited(t, refs), p.Requesters...)
}

// warnOfRecipients warns of what the receiving queues will do unexpectedly.
func (p *Plan) warnOfRecipients(t *model.Topology) {
	for _, r := range p.Recipients {
		s := t.Settings(r.Queue)
		if later, ok := p.comesLater(t, r.Queue); ok {
			p.warn(warning("%s gets them after %s in the buffer", later.Worker, later.After))
			continue
		}

		if r.Queue == p.From {
			p.warn(warning("%s is the queue they come from: they go back to its end", r.Queue))
		}

		if n, known := r.Consumers.Get(); known && n == 0 && r.Queue != p.From && (p.Operation != Move || s.TTL.Set) {
			until := ""
			if s.TTL.Set {
				until = model.Sayf(" until they expire, after %s (%s)", s.TTL.Value, s.TTL.Source)
			}
			p.warn(warning("%s has no consumers: they will wait there%s", r.Queue, until))
		}

		if slices.Contains(t.RejectedTargets(r.Queue), r.Queue) {
			p.warn(warning("what %s rejects can come back to it at once, again and again", r.Queue))
		}

		p.warnOfChosen(t, r.Queue)
		if workers := t.WorkersOf(r.Queue); p.Operation != Move && len(workers) == 1 {
			p.warn(warning("failures of %s end in %s: to give them to that worker, choose queue:%[1]s",
				model.Printable(workers[0]), r.Queue))
		}

		for carrier := range model.Each(t.Snapshot.Shovels) {
			if carry.Takes(carrier, r.Queue) && carry.Runs(carrier) {
				p.warn(warning("the %s takes what comes into %s, to %s", carry.Title(carrier), r.Queue, carry.Target(carrier)))
			}
		}

		if p.Operation != Move && len(p.Target.Workers) > 0 && r.Queue != p.From &&
			!slices.Contains(p.Target.Workers, r.Queue) && !p.namedByClue(r.Queue) {
			too := ""
			if len(p.Recipients) > 1 {
				too = " too"
			}
			p.warn(warning("%s would receive them%s, and is not the worker of this flow", r.Queue, too))
		}

		if s.TTL.Set && s.TTL.Value == 0 && r.Consumers.Or(1) > 0 {
			p.warn(expiresAtOnce(t, r.Queue, s))
		}
		if s.Refuses() {
			p.warn(refusesWhenFull(r, s.Overflow.Value))
		}
	}
}

// warnOfChosen says which consumers of a queue get the messages, where that is not each in turn.
func (p *Plan) warnOfChosen(t *model.Topology, ref model.QueueRef) {
	q, exists := t.Queue(ref)
	if !exists {
		return
	}

	n := q.Consumers.Or(0)
	switch {
	case q.ExclusiveHeld:
		p.warn(warning("the one consumer of %s is exclusive: it alone gets them", ref))
	case q.SingleActive && n > 1:
		p.warn(warning("%s has a single active consumer: one of its %v consumers gets all of them", ref, n))
	case q.Favoured > 0:
		p.warn(warning("of the %v consumers of %s, %v (gets|get) them first, by a higher priority", n, ref, q.Favoured))
	}
}

// namedByClue reports whether evidence in messages led to a queue: then a warning has named its flow already.
func (p *Plan) namedByClue(ref model.QueueRef) bool {
	return slices.ContainsFunc(p.Ways, func(w PlannedWay) bool { return w.Clue != nil && w.Clue.Queue == ref })
}

// NeedsLook reports whether the plan of an action depends on the messages, beyond their number. A drop of everything
// does not, and neither does an action with one target queue.
func (w ActionWant) NeedsLook() bool {
	return w.Selection.OneByOne() || w.Canary != 0 || w.Mend != nil || w.Operation != Drop && w.Mode != target.ToQueue
}

// Run is a plan with what its execution needs besides: a plan is data, and these are not.
type Run struct {
	Plan
	Undoing  *Undoing  // for an undo that takes messages back from a queue; otherwise nil
	Resuming *Resuming // for a plan that resumes a record; otherwise nil
	Record   int64     // of the journal, if it was begun before, as one of several
	// Topology routes each message: it is the one that the plan was made from. A drop and an undo need none.
	Topology *model.Topology
	// GoOn ends the current wait of a canary each time something is sent: the user does not want to wait longer. May be
	// nil.
	GoOn <-chan struct{}
}

// On returns the plan with the topology that it was made from.
func (p Plan) On(t *model.Topology) Run {
	if f := p.Selection.Filter; t != nil && !f.Knows() {
		p.Selection.Filter = around.Look{Topology: t, Queue: p.From}.Filter(f)
	}
	return Run{Plan: p, Topology: t}
}

// Routable reports whether the run can work out where its messages go.
func (r *Run) Routable() bool {
	return r.Topology != nil || !r.Operation.Publishes() || r.Undoing != nil || r.Resuming != nil && r.Planned == 0
}
