package cause

import "time"

// Recent counts for each cause how many of its messages failed in each step of the span that ends now, the oldest step
// first; of a cause without such messages there is nothing. It knows the messages that are here: what has left its
// queue is not counted, nor what does not say when it failed.
func (g *Groups) Recent(now time.Time, span time.Duration, steps int) map[ID][]float64 {
	counts := map[*group][]float64{}
	end, step := now.UnixMilli(), max(span.Milliseconds()/int64(steps), 1)
	for _, q := range g.queues {
		for _, in := range q.each() {
			back := max(end-in.last, 0) / step // by a clock that runs ahead it failed now
			if in.last == 0 || back >= int64(steps) {
				continue
			}
			at := in.group.current()
			if counts[at] == nil {
				counts[at] = make([]float64, steps)
			}
			counts[at][steps-1-int(back)]++
		}
	}
	recent := make(map[ID][]float64, len(counts))
	for at, values := range counts {
		recent[at.cause.ID()] = values
	}
	return recent
}
