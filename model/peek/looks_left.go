package peek

import (
	"fmt"
	"math"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A message of a quorum queue can be returned a limited number of times, where each return counts (3.10 to 4.2 with a
// delivery limit, which from 4.0 is 20 by default): once it is delivered with an x-delivery-count that has reached the
// limit, returning it in any way drops or dead-letters it. Such a message is rescued instead: a confirmed copy goes to
// the end of its queue, and only then is it acknowledged.
//
// From 4.3 a return does not count, so only messages that arrived with a count above the limit are dropped:
// model.Carried.

// Doomed reports whether returning a message that this plan took would lose it.
func (p Plan) Doomed(count int64) bool {
	return p.Counts && count >= p.Budget ||
		p.Carries && (count > p.Budget || count == p.Budget && p.Ended.Sure()) // it may end as a return that counts
}

// CountOf returns a message's count, for Doomed.
func (p Plan) CountOf(m *message.Message) int64 {
	if p.Carries {
		return m.Delivered()
	}
	return m.Counted()
}

// Limited reports whether returning a message can lose it.
func (p Plan) Limited() bool { return p.Counts || p.Carries }

// Foreseen reports whether the topology lets messages arrive with a count above the limit.
func (p Plan) Foreseen() bool { return p.Carries && p.Carried.Count > p.Budget }

// Weigh decides whether a peek continues at this highest known delivery count: nil when it does.
func (p Plan) Weigh(count int64) *LimitReached {
	if count <= p.MostCounted() {
		return nil
	}
	reached := &LimitReached{Limit: p.Budget, Final: p.Final, Spared: p.Counts && count < p.Budget-scarceDeliveries}
	if p.Carries {
		reached.Carried = p.Carried
	} else {
		reached.Left = max(p.Budget-count, 0)
	}

	return reached
}

// MostCounted returns the highest delivery count at which a peek continues.
func (p Plan) MostCounted() int64 {
	switch {
	case !p.Careful():
		return math.MaxInt64
	case p.Carries:
		return p.Budget
	}

	return p.Budget - max(scarceDeliveries, p.Spare) - 1
}

// Endangers reports whether returning a message uses its delivery limit up, or can pass it by what the topology lets
// arrive.
func (p Plan) Endangers() bool { return p.Counts || p.Foreseen() }

// Careful reports whether the delivery limit may stop this plan.
func (p Plan) Careful() bool { return p.Endangers() && !p.Agreed && !p.TakesAll }

// LimitReached ends a peek, an export, or an action searching for its messages, before the queue's delivery limit makes
// it lose a message.
type LimitReached struct {
	Limit int64
	Left  int64 // of the limit, for the message returned most often
	// the queue whose message arrived with a count above the limit; zero: returns count
	Carried model.Carried
	Final   bool // the connection is read-only, so no one can agree to go on
	Spared  bool // more are left than a look must leave, but it began by itself
}

func (e *LimitReached) Error() string { return e.Refusal().Words() }

func (e *LimitReached) Refusal() Refusal {
	if e.Spared {
		return Refusal{model.Saidf("%s: looks begin by themselves only while more than half are left",
			LooksLeft(e.Left, e.Limit))}
	}
	met := model.Saidf("%s: %s", LooksLeft(e.Left, e.Limit), overLimit).Insisting(rescuing)
	if e.Carried.Count > 0 {
		met = countCarried(e.Carried, e.Limit)
	}

	return Refusal{unless(e.Final, met)}
}

// LooksLeft returns "3 looks left of 20".
func LooksLeft(left, limit int64) string {
	return model.Sayf("%v look(s) left of %d", max(left, 0), max(limit, 0))
}

// RescueImpossible is the error of a peek that was not begun because a message at its delivery limit could not be
// rescued.
type RescueImpossible struct {
	Why   string // one sentence
	Final bool   // the connection is read-only, so no one can agree to go on
}

func (e *RescueImpossible) Error() string { return e.Refusal().Words() }

func (e *RescueImpossible) Refusal() Refusal {
	return Refusal{unless(e.Final, model.Saidf("each look counts against the delivery limit, and a message at the limit "+
		"could not be rescued: %s", e.Why).Insisting("messages that are at their limit are dropped or dead-lettered"))}
}

// RefusedLook is the error of a peek that ended, or did not begin, because it would lose messages.
type RefusedLook interface {
	error
	Refusal() Refusal
}

// Rescued is what happened to messages that were taken although they were at their delivery limit, and not acted on.
type Rescued struct {
	Copied    int    // each has a confirmed copy at the end of the queue, which counts from 0
	Kept      int    // without a confirmed copy, but complete in the journal
	Lost      int    // neither: RabbitMQ dropped or dead-lettered them
	JournalID int64  // the record with them; 0: there is no journal
	Why       string // why not all were copied
}

// With adds up both.
func (r Rescued) With(other Rescued) Rescued {
	r.Copied += other.Copied
	r.Kept += other.Kept
	r.Lost += other.Lost
	if other.JournalID > 0 {
		r.JournalID = other.JournalID
	}
	if other.Why != "" {
		r.Why = other.Why
	}

	return r
}

func (r Rescued) Any() bool { return r.Copied+r.Kept+r.Lost > 0 }

// Copies reports whether each is still in the queue.
func (r Rescued) Copies() bool { return r.Kept+r.Lost == 0 }

// Words describe it, "" when there is nothing to report.
func (r Rescued) Words() string {
	words := ""
	say := func(n int, format string, values ...any) {
		if n == 0 {
			return
		}
		if words != "" {
			words += "; "
		}
		words += model.Sayf("%v message(s) at the delivery limit ", n) + model.Sayf(format, values...)
	}

	record := ""

	if r.JournalID > 0 {
		record = fmt.Sprintf(" (journal %d)", r.JournalID)
	}

	say(r.Copied, "rescued: moved to the end of the queue%s", record)
	say(r.Kept, "kept in the journal only: %s: `dlxtop journal undo %d` brings back what is missing", r.Why, r.JournalID)
	say(r.Lost, "neither copied nor kept, so RabbitMQ dropped or dead-lettered them: %s", r.Why)
	return words
}

// Note adds to a snapshot what a peek has cost its queue.
func Note(s *model.Snapshot, p *Peeked) {
	if !p.Plan.Counts {
		return
	}
	if s.Looked == nil {
		s.Looked = model.LookedByQueue{}
	}
	s.Looked[p.Plan.Queue] = model.Looked{Highest: p.Highest, Limit: p.Plan.Budget}
}

// LooksLeftOf returns how many peeks the delivery limit of a queue allows, going by earlier ones. counts reports
// whether it limits them, and told whether an earlier one is known: otherwise the result is the limit itself, and less
// may be left.
func LooksLeftOf(t *model.Topology, ref model.QueueRef) (left, limit int64, counts, told bool) {
	plan := For(t, ref, Want{})
	if !plan.Counts {
		return 0, 0, false, false
	}
	delivered := delivered(t, ref)
	return max(plan.Budget-delivered.Or(0), 0), plan.Budget, true, delivered.Known()
}

// delivered returns the highest delivery count that earlier peeks have left in a queue. It begins again in an empty
// one.
func delivered(t *model.Topology, ref model.QueueRef) model.Opt[int64] {
	looked, ok := t.Snapshot.Looked[ref]
	q, exists := t.Queue(ref)
	if !ok || !exists {
		return model.Opt[int64]{}
	}
	if depth, known := q.Depth(); known && depth == 0 {
		return model.Opt[int64]{}
	}

	return model.Some(looked.Highest)
}
