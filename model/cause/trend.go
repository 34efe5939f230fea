package cause

import "time"

// Recent counts for each cause how many of its messages failed in each step of the span that ends now, oldest step
// first; causes without such messages are left out. It only counts messages that are still in their queues and say when
// they failed.
func (g *Groups) Recent(now time.Time, span time.Duration, steps int) map[ID][]float64 {
	counts := map[*group][]float64{}
	end := now.UnixMilli()
	step := max(span.Milliseconds()/int64(steps), 1)
	for _, q := range g.queues {
		for _, in := range q.each() {
			back := max(end-in.last, 0) / step // a time in the future, from a fast clock, counts as now
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
