package action

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Sample is the peek before an action.
type Sample struct {
	Messages int
	Depth    model.Opt[int64]
	Complete bool             // it saw everything
	Left     model.Opt[int64] // remaining peeks, where a delivery limit counts them
	Limit    int64
	Cause    string      // the one that messages are selected by, in printable words
	Frozen   plan.Frozen // when the selected messages were read; zero: later messages count, too
	Others   plan.Others // where it found nothing to act on: what may be there nevertheless
	Saved    bool        // nothing was peeked at, because that has a cost and was not needed
	Counts   bool        // each peek counts towards a delivery limit
}

// before says what was read to make a plan, and after, what that leaves unknown.
func (s *Sample) before(p *plan.Plan) []Fact {
	var f facts
	f.say("cause "+string(p.Selection.Cause), s.Cause, Plain)
	if at := s.Frozen.At; !at.IsZero() {
		f.say(model.Sayf("%v message(s) as of %s", p.Planned, at.Local().Format("15:04:05")), "what comes later stays", Plain)
	}

	if !s.Complete {
		read := "read the first " + model.Count(s.Messages)
		if depth, known := s.Depth.Get(); known {
			read += " of " + model.Count(depth)
		}
		f.say(read+" messages", "a later one that would reach a queue not named here stays where it is", Plain)
	}

	return f
}

func (s *Sample) after(p *plan.Plan) []Fact {
	var f facts
	switch {
	case !s.Saved || p.Operation == plan.Drop:
	case s.Counts:
		f.say("no message was read, because each look counts towards the delivery limit", "changes to headers are not listed",
			Plain)
	default:
		f.say("no message was read before", "what a replay changes in messages, and what their frameworks will do, is not "+
			"listed (--dry-run lists it)", Plain)
	}

	return f
}

// SampleOf returns the peek before an action; one that needs none has seen everything.
func SampleOf(a Action) Sample {
	if m, looked := a.(*Messages); looked {
		return m.Sample
	}
	return Sample{Complete: true}
}
