package ui

import (
	"time"

	"dlxtop/model"
)

// steadySpan is over how long rates are averaged. The broker counts in steps of its own (collect_statistics_interval, 5 s unless
// configured): between two polls in one step nothing seems to move, and between the next two far too much.
const steadySpan = 12 * time.Second

// pollMoves is what moved between two polls.
type pollMoves struct {
	moves model.Moves
	took  time.Duration
}

// recent are the movements of the last polls, newest last. It is immutable: after makes the next one.
type recent []pollMoves

// after adds the movements since the last poll and forgets those that are too old.
func (r recent) after(moves model.Moves, took time.Duration) recent {
	if moves == nil || took <= 0 {
		return r
	}
	span, first := took, len(r)
	for first > 0 && span < steadySpan {
		first--
		span += r[first].took
	}
	return append(append(recent(nil), r[first:]...), pollMoves{moves, took})
}

// steady are the movements of the last poll with rates over all that is remembered.
func (r recent) steady() model.Moves {
	if len(r) == 0 {
		return nil
	}
	last := r[len(r)-1].moves
	moves := make(model.Moves, len(last))
	for ref, m := range last {
		var came, went, gone int64
		var took time.Duration
		for i := range r {
			past, ok := r[i].moves[ref]
			if !ok {
				continue
			}
			came, went, gone = came+past.Came.Or(0), went+past.Went.Or(0), gone+past.Gone.Or(0)
			took += r[i].took
		}
		if m.Came.Known() && took > 0 {
			m.In, m.Out = model.Some(float64(came)/took.Seconds()), model.Some(float64(went)/took.Seconds())
			m.Dead = model.Some(float64(gone) / took.Seconds())
		}
		moves[ref] = m
	}
	return moves
}

// span is over how long the movements are remembered.
func (r recent) span() time.Duration {
	var span time.Duration
	for i := range r {
		span += r[i].took
	}
	return span
}
