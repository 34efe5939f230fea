package watch

import (
	"time"

	"dlxtop/model"
)

// HeadArrived is between when and when the message at the head of a queue came, as the counts saw it: after is zero
// when it was there before anybody counted. It is not known of a queue with consumers, nor while only polls tell of it.
func (w *Watch) HeadArrived(ref model.QueueRef) (after, by time.Time, ok bool) {
	p := w.places[ref]
	if p == nil || p.consumed || !p.fast || len(p.line.earliest) == 0 || len(p.line.latest) == 0 {
		return after, by, false
	}
	return p.line.earliest[0].at, p.line.latest[0].at, true
}
