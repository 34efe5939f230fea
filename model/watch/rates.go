package watch

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Every displayed rate is computed in this package: from the polls of all queues (Polls) and, sooner, from the counts
// of a flow (Watch).

// perSecond returns a rate.
func perSecond(n int64, over time.Duration) model.Opt[float64] {
	return model.Some(float64(n) / over.Seconds())
}

const (
	rateSpan = 10 * time.Second
	nowSpan  = time.Second
)

// Rates are the messages per second that entered and left a queue (In and Out), by counts.
type Rates struct {
	Steady model.Movement // over the last ten seconds
	Latest model.Movement // over the last one
}

// Rates returns those of counted queues without consumers; for others there are only polls.
func (w *Watch) Rates(now time.Time) map[model.QueueRef]Rates {
	rates := make(map[model.QueueRef]Rates, len(w.order))
	for _, ref := range w.order {
		if r, ok := w.rates(w.places[ref], now); ok {
			rates[ref] = r
		}
	}

	return rates
}

func (w *Watch) rates(p *watched, now time.Time) (Rates, bool) {
	if p.consumed || !p.fast || now.Sub(p.fastAt) > counting || w.began.IsZero() {
		return Rates{}, false
	}
	over := min(rateSpan, max(w.age(now), nowSpan))
	var steady, late, latest struct{ came, went int64 }
	for _, s := range p.steps {
		if now.Sub(s.at) >= over {
			continue
		}
		steady.came += s.came
		steady.went += s.went
		switch {
		case s.late: // it is unknown when
			late.came += s.came
			late.went += s.went
		case now.Sub(s.at) < nowSpan:
			latest.came += s.came
			latest.went += s.went
		}
	}

	sum := func(a, b model.Opt[float64]) model.Opt[float64] { return model.Some(a.Or(0) + b.Or(0)) }

	return Rates{
		Steady: model.Movement{In: perSecond(steady.came, over), Out: perSecond(steady.went, over)},
		Latest: model.Movement{
			In:  sum(perSecond(late.came, over), perSecond(latest.came, nowSpan)),
			Out: sum(perSecond(late.went, over), perSecond(latest.went, nowSpan)),
		},
	}, true
}

// Moves returns the polls' movements of the flow's queues, with the counts' rates in place of theirs. Until the counts
// cover as much time as the polls, the higher rate is used.
func (w *Watch) Moves(byPolls model.Moves, rates map[model.QueueRef]Rates, now time.Time) model.Moves {
	if len(rates) == 0 {
		return byPolls
	}
	moves := make(model.Moves, len(w.order))
	for _, ref := range w.order {
		if m, ok := byPolls[ref]; ok {
			moves[ref] = m
		}
	}

	for ref, r := range rates {
		m := moves[ref]
		if w.age(now) < steadySpan {
			m.In, m.Out = mostOf(m.In, r.Steady.In), mostOf(m.Out, r.Steady.Out)
		} else {
			m.In, m.Out = r.Steady.In, r.Steady.Out
		}
		moves[ref] = m
	}

	return moves
}
