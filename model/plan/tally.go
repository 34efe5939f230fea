package plan

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// tally counts the ways of a plan's messages, and the warnings for each. There can be as many of both as messages, so
// it finds them by key; the plan itself is data, and has lists.
type tally struct {
	plan      *Plan
	ways      map[model.Address]countedWay
	told      map[telling]bool
	other     otherKeys
	otherAt   int     // the index of their warning
	converted int     // messages of AMQP 1.0
	delayed   awaited // messages that RabbitMQ must not deliver yet
}

// countedWay is one of Plan.Ways.
type countedWay struct {
	at      int
	unheard model.QueueRef // a queue that it reaches although it is bound with other keys only; zero for none
}

// telling is what makes two warnings equal.
type telling struct {
	why            string // or the whole sentence
	again          loss.SecondFailure
	clue, stronger target.Clue
}

func newTally(p *Plan) *tally {
	return &tally{plan: p, ways: map[model.Address]countedWay{}, told: map[telling]bool{}}
}

// countWay counts the way of one message. unheard is a queue that it reaches although it is bound with other keys only:
// its consumers may not know the key.
func (t *tally) countWay(r *model.Topology, way *target.Way) (unheard model.QueueRef) {
	p := t.plan
	counted, known := t.ways[way.Address]
	if !known {
		counted.at = len(p.Ways)
		ref := way.Reaches[0]
		if way.Exchange == "" && !r.Hears(ref, way.RoutingKey) && !loss.RetriesBy(r, ref, way.RoutingKey) {
			counted.unheard = ref
		}
		t.ways[way.Address] = counted
		p.Ways = append(p.Ways, PlannedWay{*way, 1})
		return counted.unheard
	}

	w := &p.Ways[counted.at]
	w.Messages++
	w.Exact = w.Exact && way.Exact
	w.Reaches = model.UnionOf(w.Reaches, way.Reaches) // they differ where a headers exchange is on the way
	return counted.unheard
}

// fresh reports whether no equal warning was given.
func (t *tally) fresh(as telling) bool {
	told := t.told[as]
	t.told[as] = true
	return !told
}

// warn adds a warning, unless an equal one was given.
func (t *tally) warn(format string, values ...any) {
	if w := warning(format, values...); t.fresh(telling{why: w.Says}) {
		t.plan.Warnings = append(t.plan.Warnings, w)
	}
}

// clues warns of evidence for a worker other than the selected one: for messages that differ only in the routing key as
// evidence, the first is named.
func (t *tally) clues(w *target.Way) {
	for i := range w.Against {
		as := telling{clue: w.Against[i]}
		if w.Clue != nil {
			as.stronger = *w.Clue
		}

		as.clue.Address, as.stronger.Address = model.Address{}, model.Address{}
		if t.fresh(as) {
			by := "the flow decides"
			if w.Clue != nil {
				by = w.Clue.Words() + " weighs more"
			}
			t.plan.Warnings = append(t.plan.Warnings, warning("%s: %s", w.Against[i].Words(), by))
		}
	}

	t.noteLoss(w.Again)
}

// parted warns that a queue's dead letters do not come here any more: it was changed since, or the message came by
// another way.
func (t *tally) parted(r *model.Topology, m *message.Message) {
	if last, to, parted := t.plan.Target.Parted(r, m); parted {
		t.warn("by x-death, %s gave up what is here, but its dead letters go to %s now: its dead lettering was changed, or "+
			"they were moved or published here; those that fail again are there", last, model.NamesOr(to, "no queue"))
	}
}

// noteLoss records how copies that fail again are lost: for those that differ only in their keys, the first is named.
func (t *tally) noteLoss(f *loss.SecondFailure) {
	if f == nil {
		return
	}
	as := telling{again: loss.SecondFailure{By: f.By, Queue: f.Queue, Same: f.Same}}
	as.again.End.Queue = f.End.Queue
	as.again.End.Exchange = f.End.Exchange
	switch {
	case !t.fresh(as):
	case f.Same:
		t.plan.warn(Warning{Says: f.Words()})
	default:
		t.plan.Again = append(t.plan.Again, *f)
	}
}

// envelope warns that a replay publishes something other than the message in the queue, or cannot.
func (t *tally) envelope(m *message.Message) {
	e, ok := m.Envelope()
	member, edit, encloses := m.Enclosed()
	switch {
	case !ok && encloses && t.plan.Mend == nil:
		t.warn("body.%v stands beside an error: if it is what the worker expects, add --edit %v", member,
			shellQuoted(edit))
	case !ok:
	case e.Problem != "":
		t.warn("%s: it is published as it is", e.Problem)
	default:
		for _, does := range append([]string{e.Does}, e.Doubts...) {
			t.warn("%s", does)
		}
	}
}

// otherKey warns that a worker sees a routing key different from the message's own, or one that its queue is not bound
// with. A move into a queue that nothing works on changes nothing that an application sees.
func (t *tally) otherKey(
	r *model.Topology, m *message.Message, e *message.Envelope, way *target.Way, unheard model.QueueRef,
) {
	p := t.plan
	key, was, differs := p.Target.OtherKey(r, m, e, way)

	parked := p.Operation == Move && !slices.ContainsFunc(way.Reaches, func(ref model.QueueRef) bool {
		q, exists := r.Queue(ref)
		return exists && q.Consumers.Or(1) > 0 || r.IsWorker(ref)
	})

	if !differs || parked || !was.Known() && unheard.Name == "" {
		return
	}
	if t.other.keys == nil {
		t.otherAt = len(p.Warnings)
		p.Warnings = append(p.Warnings, Warning{}) // write fills it in
	}

	t.other.add(key, was, unheard)
}

// copied counts messages whose copies lose parts of AMQP 1.0, and those with a future delivery time in their (possibly
// changed) headers. m is nil when it is unknown.
func (t *tally) copied(r *model.Topology, m *message.Message, headers model.Table) {
	if m != nil && r.Behaviour.ConvertsAMQP10 && m.FromAMQP10() {
		t.converted++
	}

	if at, ok := delayed(r, headers); ok {
		t.delayed.add(at)
	}
}

// delayed is until when RabbitMQ holds a message with these headers back, if it does.
func delayed(r *model.Topology, headers model.Table) (time.Time, bool) {
	at, ok := message.DeliveryTime(headers)
	now := r.Snapshot.TakenAt
	return at, ok && r.Behaviour.DelaysByHeader && !now.IsZero() && at.After(now)
}

// copyWarnings returns the warnings about what copied counted. stay: the delay's header is published.
func (t *tally) copyWarnings(stay bool, now time.Time) (warnings []Warning) {
	if t.converted > 0 {
		warnings = append(warnings, Warning{Says: ConvertedWords(t.converted)})
	}

	with := messages(t.delayed.messages)
	longest := t.delayed.at.Sub(now).Truncate(time.Second)
	switch {
	case t.delayed.messages == 0:
	case stay:
		warnings = append(warnings, warning("%s with %s, the last in %s: RabbitMQ confirms them, and keeps them back until "+
			"then: no look finds them", with, message.DeliveryTimeHeader, longest))
	default:
		warnings = append(warnings, warning("%s not to be delivered yet, the last in %s: %s is removed, and they come at "+
			"once (--keep-delay keeps it)", with, longest, message.DeliveryTimeHeader))
	}

	return warnings
}

func (t *tally) write(now time.Time) {
	p := t.plan
	if t.other.keys != nil {
		p.Warnings[t.otherAt] = t.other.warning()
	}
	p.Warnings = append(p.Warnings, t.copyWarnings(p.KeepDelay || p.Operation == Drop, now)...)
}
