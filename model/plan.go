package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Operation is what a plan does.
type Operation string

// The operations.
const (
	Replay Operation = "replay" // publish again, wait for the confirm, then acknowledge
	Move   Operation = "move"   // the same into a queue of choice, without a mark: the message is as it was
	Drop   Operation = "drop"   // acknowledge
	Undo   Operation = "undo"   // bring back what a replay or a drop took out of a queue
	Import Operation = "import" // publish messages of a file
)

// Publishes reports whether an operation publishes what it takes out of a queue.
func (o Operation) Publishes() bool { return o != Drop }

// Address is where a message is published: an exchange ("" is the default exchange) and a routing key.
type Address struct {
	Exchange   string
	RoutingKey string
}

// Plan is an action before it runs: data that can be printed, shown in a dialog and tested without a broker.
type Plan struct {
	Operation  Operation
	From       QueueRef
	Acquire    PeekPlan     // how the messages are taken out of From
	Selection  Selection    // which of them
	Target     Target       // where a replay or a move goes
	Planned    int          // how many messages are chosen
	Ways       []PlannedWay // the addresses of a replay, as the sample needs them
	Recipients []Recipient  // every queue that may receive a message of this plan: others are refused while it runs
	Strips     []string     // headers and properties that are removed, as they occur in the chosen messages
	KeepDeaths bool         // the death history stays: nothing at the target counts it
	Keeps      []string     // headers of the death history that stay, as they occur in the chosen messages
	Warnings   []string     // what could go wrong, in words
	Refusal    string       // why it must not run, "" when it may
	User       string       // the connected user: another user_id than this one is stripped, because the broker refuses it (406)
	Rate       float64      // messages per second at most; 0 is as fast as the broker confirms
	Mark       bool         // a replay adds ReplayHeader
	MarkName   string       // names the replay in that header; it is given one when it runs
	Canary     *Canary      // it begins with one message; nil: with all
	Edited     *Draft       // what is published instead of the one chosen message; nil: it was not edited
	Undoing    *Undoing     // of an undo that takes messages back from a queue; else nil
}

// PlannedWay is one address of a replay, and how many messages of the sample go there.
type PlannedWay struct {
	Way
	Messages int
}

// Recipient is a queue that would receive messages of a plan.
type Recipient struct {
	Queue     QueueRef
	Consumers Opt[int64]
	Messages  int // of the messages looked at when the plan was made
}

// ActionWant is what a person or a script wants done.
type ActionWant struct {
	Operation Operation
	From      QueueRef
	Selection Selection
	Planned   int      // how many messages that is, as far as known
	Sample    Messages // messages that were looked at and are chosen: the plan names their recipients and strips; nil: none were
	Mode      TargetMode
	Fixed     Address       // of ToQueue and ToExchange
	User      string        // the connected user
	Rate      float64       // messages per second at most; 0 is as fast as the broker confirms
	Insist    bool          // go on in spite of a refusal that can be overridden
	Mark      bool          // a replay adds ReplayHeader, so that a message that comes back is recognised
	Journaled bool          // the journal keeps what is done
	Edited    *Draft        // what is published instead of the one chosen message
	Canary    time.Duration // a replay or a move begins with a canary that is watched for so long; 0: without one
}

// Plan makes the plan for an action.
func (t *Topology) Plan(want ActionWant) Plan {
	p := Plan{
		Operation: want.Operation,
		From:      want.From,
		Acquire:   t.PlanPeek(want.From, PeekWant{Limit: want.depth(t), Insist: want.Insist, ForAction: true}),
		Selection: want.Selection,
		Planned:   want.Planned,
		User:      want.User,
		Rate:      want.Rate,
		Mark:      want.Mark && want.Operation == Replay,
		Edited:    want.Edited,
	}
	p.Refusal = p.Acquire.Refusal
	if want.Operation == Drop {
		if !want.Journaled {
			p.warn("dropped messages are gone: without the journal there is no undo")
		}
		return p
	}
	p.Target = t.Target(want.From, want.Mode, want.Fixed)
	if want.Operation == Move {
		p.prepareMove(t)
	}
	p.address(t, want.Sample)
	p.warnOfRecipients(t)
	if want.Canary > 0 {
		p.prepareCanary(t, &want)
	}
	return p
}

// depth is how far an action may have to read: to the end of the queue, unless the first messages are asked for.
func (w ActionWant) depth(t *Topology) int {
	s := w.Selection
	if s.Limit > 0 && s.Fingerprints == nil && s.MessageID == "" && s.Filter == nil {
		return s.Limit
	}
	if q, ok := t.queues[w.From]; ok {
		return max(int(q.Ready.Or(0)), w.Planned)
	}
	return w.Planned
}

func (p *Plan) warn(text string) {
	if !slices.Contains(p.Warnings, text) {
		p.Warnings = append(p.Warnings, text)
	}
}

// address works out where the sample goes, whom it reaches and what it loses.
func (p *Plan) address(t *Topology, sample Messages) {
	if sample == nil || sample.Len() == 0 {
		sample = MessageList{}
		if p.Target.Mode == ToQueue || p.Target.Mode == ToExchange {
			sample = MessageList{{}}
		}
	}
	recipients := map[QueueRef]int{}
	strips, keeps := map[string]bool{}, map[string]bool{}
	var problems []string
	var failing int
	err := each(sample, 0, func(m *Message) {
		way := p.Target.wayOf(m, p.opening(m))
		if way.Problem != "" {
			failing++
			if !slices.Contains(problems, way.Problem) {
				problems = append(problems, way.Problem)
			}
			return
		}
		p.countWay(way)
		for _, ref := range way.Reaches {
			recipients[ref]++
		}
		p.noteChanges(m, strips, keeps)
		if p.Operation == Replay {
			p.warnOfEnvelope(m)
		}
		if origin := m.Origin(); way.Exchange == "" && way.RoutingKey != origin.RoutingKey && origin.RoutingKey != "" && p.Target.Mode == ToAuto {
			p.warn(fmt.Sprintf("the worker sees the routing key %s instead of %s", Printable(way.RoutingKey), Printable(origin.RoutingKey)))
		}
	})
	if err != nil && p.Refusal == "" {
		p.Refusal = Printable(err.Error()) + ": read the queue again"
	}
	for ref, n := range recipients {
		q := t.queues[ref]
		p.Recipients = append(p.Recipients, Recipient{ref, q.Consumers, n})
	}
	slices.SortFunc(p.Recipients, func(a, b Recipient) int { return cmp.Compare(a.Queue.Name, b.Queue.Name) })
	p.Strips, p.Keeps = slices.Sorted(maps.Keys(strips)), slices.Sorted(maps.Keys(keeps))
	switch {
	case failing == 0:
	case failing == sample.Len():
		if p.Refusal == "" {
			p.Refusal = problems[0]
		}
	default:
		p.warn(fmt.Sprintf("%d of them stay: %s", failing, strings.Join(problems, "; ")))
	}
}

func (p *Plan) countWay(way Way) {
	for i := range p.Ways {
		if p.Ways[i].Address == way.Address {
			p.Ways[i].Messages++
			return
		}
	}
	p.Ways = append(p.Ways, PlannedWay{way, 1})
}

// warnOfEnvelope tells that a replay publishes something else than what lies in the queue, or that it cannot.
func (p *Plan) warnOfEnvelope(m *Message) {
	e, ok := m.Envelope()
	switch {
	case !ok:
	case e.Problem != "":
		p.warn(e.Problem + ": it is published as it is")
	default:
		p.warn(e.Does)
		for _, doubt := range e.Doubts {
			p.warn(doubt)
		}
	}
}

// IntakeWarnings tell what a queue will do with so many messages that a person might not expect.
func (t *Topology) IntakeWarnings(ref QueueRef, messages int) []string {
	p := Plan{Planned: messages, Recipients: []Recipient{{Queue: ref, Consumers: t.queues[ref].Consumers, Messages: messages}}}
	p.warnOfRecipients(t)
	if s := t.settings[ref]; s.TTL.Set && p.Recipients[0].Consumers.Or(1) != 0 {
		p.warn(fmt.Sprintf("%s expires its messages after %s (%s)", Printable(ref.String()), ShortDuration(s.TTL.Value), s.TTL.Source))
	}
	return p.Warnings
}

// warnOfRecipients tells what the receiving queues will do that a person might not expect.
func (p *Plan) warnOfRecipients(t *Topology) {
	for _, r := range p.Recipients {
		q, s, name := t.queues[r.Queue], t.settings[r.Queue], Printable(r.Queue.String())
		if r.Queue == p.From {
			p.warn(fmt.Sprintf("%s is the queue they come from: they go back to its end", name))
		}
		if n, known := r.Consumers.Get(); known && n == 0 && r.Queue != p.From && (p.Operation != Move || s.TTL.Set) {
			wait := "they will wait there"
			if s.TTL.Set {
				wait = fmt.Sprintf("they will wait there until they expire, after %s (%s)", ShortDuration(s.TTL.Value), s.TTL.Source)
			}
			p.warn(fmt.Sprintf("nothing consumes %s: %s", name, wait))
		}
		if p.Operation != Move && len(p.Target.Workers) > 0 && r.Queue != p.From && !slices.Contains(p.Target.Workers, r.Queue) {
			too := ""
			if len(p.Recipients) > 1 {
				too = " too"
			}
			p.warn(fmt.Sprintf("%s would receive them%s, and is not the worker of this flow", name, too))
		}
		if s.Bounded() {
			switch s.Overflow.Value {
			case dropHead:
				if limit, full := nearLimit(q, s, int64(p.Planned)); full {
					p.warn(fmt.Sprintf("%s holds at most %s: it may push its oldest messages out", name, limit))
				}
			default:
				p.warn(fmt.Sprintf("%s refuses messages when it is full (%s): those stay where they are", name, s.Overflow.Value))
			}
		}
	}
}

// nearLimit reports whether so many more messages may not fit. What is unknown may not fit.
func nearLimit(q *Queue, s Settings, more int64) (limit string, full bool) {
	depth, known := q.depth()
	if s.MaxLength.Set && (!known || depth+more > s.MaxLength.Value) {
		return Plural(s.MaxLength.Value, "message"), true
	}
	if s.MaxBytes.Set {
		return Size(s.MaxBytes.Value) + "B", true
	}
	return "", false
}
