package watch

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// steadySpan is the time over which rates are averaged. The broker counts in its own steps
// (collect_statistics_interval, 5 s unless configured): between two polls in one step nothing seems to move, and
// between the next two far too much.
const steadySpan = 12 * time.Second

// lateSpan is after what time of polls a movement is seen late: it cannot have happened before the first poll. The
// statistics of a queue are up to 5 s old, and polls are 2 s apart.
const lateSpan = 7 * time.Second

// Polls are the movements between the last polls, newest last. They are immutable: After makes the next ones.
type Polls []polled

// polled is what moved between two polls.
type polled struct {
	moves model.Moves
	took  time.Duration
}

// After adds the movements since the last poll and forgets old ones.
func (p Polls) After(moves model.Moves, took time.Duration) Polls {
	if moves == nil || took <= 0 {
		return p
	}
	span, first := took, len(p)
	for first > 0 && span < steadySpan {
		first--
		span += p[first].took
	}

	return append(append(Polls(nil), p[first:]...), polled{moves, took})
}

// Moves returns the movements since the last poll, with rates over all that is remembered.
func (p Polls) Moves() model.Moves {
	if len(p) == 0 {
		return nil
	}
	last := p[len(p)-1].moves
	moves := make(model.Moves, len(last))
	for ref, m := range last {
		var came, sent, went, gone int64
		var took, at time.Duration
		for i := range p {
			at += p[i].took
			past, ok := p[i].moves[ref]
			if !ok {
				continue
			}
			came, went, gone = came+past.Came.Or(0), went+past.Went.Or(0), gone+past.Gone.Or(0)
			sent += past.Sent.Or(0)
			took += p[i].took
			if at > lateSpan {
				m.GoneLate += past.Gone.Or(0)
			}
		}

		if m.Came.Known() && took > 0 {
			m.In, m.Out, m.Dead = perSecond(came, took), perSecond(went, took), perSecond(gone, took)
			m.New = perSecond(sent, took)
		}

		moves[ref] = m
	}

	return moves
}

// Span returns how far back movements are remembered.
func (p Polls) Span() time.Duration {
	var span time.Duration
	for i := range p {
		span += p[i].took
	}
	return span
}
