package watch

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// traceSpan is how long a watch remembers depths and movements.
const traceSpan = 5 * time.Minute

// trace is what was known of a queue in each second, newest last. Seconds without knowledge are left out.
type trace []traced

type traced struct {
	second     int64 // Unix
	depth      int64
	came, went int64
	moves      bool // came and went are known
}

// TracePoint is a part of the time that a trace covers.
type TracePoint struct {
	Depth   model.Opt[float64] // ready messages, the mean
	In, Out model.Opt[float64] // messages per second
}

// at returns the entry of a second, a new one if nothing was known of it.
func (t *trace) at(at time.Time) *traced {
	second := at.Unix()
	if n := len(*t); n == 0 || (*t)[n-1].second < second {
		old := 0
		for old < n && (*t)[old].second <= second-int64(traceSpan/time.Second) {
			old++
		}
		*t = append((*t)[old:], traced{second: second})
	}

	return &(*t)[len(*t)-1]
}

// Trace returns the depth and the movements of a queue over the last five minutes, in equal steps; the last one ends
// now.
func (w *Watch) Trace(ref model.QueueRef, now time.Time, steps int) []TracePoint {
	points := make([]TracePoint, steps)
	p := w.places[ref]
	if p == nil || steps == 0 {
		return points
	}
	type sum struct {
		depth, came, went int64
		depths, moves     int
	}

	sums := make([]sum, steps)

	start := now.Add(-traceSpan)
	for _, s := range p.trace {
		i := int(time.Unix(s.second, 0).Sub(start) * time.Duration(steps) / traceSpan)
		if i < 0 || i >= steps {
			continue
		}
		sums[i].depth += s.depth
		sums[i].depths++
		if s.moves {
			sums[i].came += s.came
			sums[i].went += s.went
			sums[i].moves++
		}
	}

	width := traceSpan / time.Duration(steps)
	for i, s := range sums {
		if s.depths > 0 {
			points[i].Depth = model.Some(float64(s.depth) / float64(s.depths))
		}
		if s.moves > 0 {
			points[i].In, points[i].Out = perSecond(s.came, width), perSecond(s.went, width)
		}
	}

	return points
}
