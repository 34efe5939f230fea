package plan

import (
	"cmp"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// tally counts the ways of a plan's messages, and what each of them warns of. There can be as many of both as there are
// messages, so it finds them by key; the plan itself is data, and has lists.
type tally struct {
	plan  *Plan
	ways  map[model.Address]int // where in Plan.Ways
	told  map[telling]bool
	other struct {
		messages, at int  // the warning's place
		several      bool // not all have the same two keys
	}
}

// telling is what makes two warnings the same.
type telling struct {
	kind           WarningKind
	why            string
	clue, stronger Clue
}

func newTally(p *Plan) *tally {
	return &tally{plan: p, ways: map[model.Address]int{}, told: map[telling]bool{}}
}

// way counts the way of one message.
func (t *tally) way(way *Way) {
	p := t.plan
	i, known := t.ways[way.Address]
	if !known {
		t.ways[way.Address] = len(p.Ways)
		p.Ways = append(p.Ways, PlannedWay{*way, 1})
		return
	}
	w := &p.Ways[i]
	w.Messages++
	w.Exact = w.Exact && way.Exact
	if !slices.Equal(w.Reaches, way.Reaches) { // a headers exchange is on the way
		w.Reaches = slices.Concat(w.Reaches, way.Reaches)
		slices.SortFunc(w.Reaches, func(a, b model.QueueRef) int { return cmp.Compare(a.Name, b.Name) })
		w.Reaches = slices.Compact(w.Reaches)
	}
}

// warn adds a warning, unless one like it was told.
func (t *tally) warn(as telling, w Warning) {
	if as.kind = w.Kind; !t.told[as] {
		t.told[as] = true
		t.plan.Warnings = append(t.plan.Warnings, w)
	}
}

// clues tells what says another worker than the one that was chosen: of messages that differ only in the routing key by
// which the worker is known, the first stands for all.
func (t *tally) clues(w *Way) {
	for i := range w.Against {
		as := telling{clue: w.Against[i]}
		if w.Clue != nil {
			as.stronger = *w.Clue
		}
		as.clue.Address, as.stronger.Address = model.Address{}, model.Address{}
		t.warn(as, Warning{Kind: outvotedClue, Clue: &w.Against[i], Stronger: w.Clue})
	}
}

// envelope tells that a replay publishes something else than what lies in the queue, or that it cannot.
func (t *tally) envelope(m *message.Message) {
	e, ok := m.Envelope()
	switch {
	case !ok:
	case e.Problem != "":
		t.warn(telling{why: e.Problem}, Warning{Kind: notOpened, Why: e.Problem})
	default:
		t.warn(telling{why: e.Does}, Warning{Kind: opensEnvelope, Why: e.Does})
		for _, doubt := range e.Doubts {
			t.warn(telling{why: doubt}, Warning{Kind: envelopeDoubt, Why: doubt})
		}
	}
}

// otherKey tells that the worker sees another routing key than a message had: the first stands for all.
func (t *tally) otherKey(key, was string) {
	t.other.messages++
	if t.other.messages == 1 {
		t.other.at = len(t.plan.Warnings)
		t.plan.Warnings = append(t.plan.Warnings, Warning{Kind: otherKey, Key: key, Was: was})
		return
	}
	first := &t.plan.Warnings[t.other.at]
	t.other.several = t.other.several || first.Key != key || first.Was != was
}

func (t *tally) end() {
	if t.other.several {
		t.plan.Warnings[t.other.at].Messages = t.other.messages
	}
}
