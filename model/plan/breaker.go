package plan

import (
	"context"
	"errors"

	"github.com/dlxtop/dlxtop/model"
)

const (
	usualShare = 0.5 // of the sent messages
	usualFrom  = 100 // messages of a plan, above which it has a breaker without being asked
)

// Tripped ends a replay because too many of the messages that it sent failed again.
type Tripped struct {
	Failed, Sent int64
	Share        float64 // at which it stops
}

func (e *Tripped) Error() string {
	return model.Sayf("%v of %v message(s) sent failed again, and it stops at %s (--stop-when)", e.Failed, e.Sent,
		percent(e.Share))
}

// WhyEnded returns why ctx ended: a *Tripped, or else that.
func WhyEnded(ctx context.Context, otherwise error) error {
	if tripped := (*Tripped)(nil); errors.As(context.Cause(ctx), &tripped) {
		return tripped
	}
	return otherwise
}

func percent(share float64) string { return model.Sayf("%.3g %%", 100*share) }

// StopWords say when too many failures end it; "" when none do.
func (p *Plan) StopWords() string {
	if p.StopWhen <= 0 {
		return ""
	}
	return percent(p.StopWhen) + " of the sent messages that fail again: the rest stays, and a resume goes on"
}

// prepareBreaker makes a replay stop when half of what it sent fails again, where that is seen for free, unless the
// user wants another share.
func (p *Plan) prepareBreaker(t *model.Topology) {
	run := p.On(t)
	f, followed := run.Follow(t, &Account{Moved: 1, Mark: "any"})
	seen := followed && p.Mark
	usual := f.Look.Free && p.Planned > usualFrom

	switch {
	case p.Refusal.Refused() || len(p.Recipients) == 0: // those of a resume follow
	case p.StopWhen > 0 && !seen:
		p.against(model.Saidf("--stop-when is not possible: it is not seen which of these messages fail again"))
	case p.StopWhen == 0 && seen && usual:
		p.StopWhen = usualShare
	}
}
