package watch

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Head is what counts know of the message at the head of a queue.
type Head struct {
	After time.Time // it came after that; zero: it was there before anybody counted
	By    time.Time // it was there
	Left  time.Time // when something was last seen to leave the queue; zero: nothing since it is counted
}

// HeadArrived is what is known of the message at the head of a queue. Nothing is of a queue with consumers, nor while
// only polls speak of it.
func (w *Watch) HeadArrived(ref model.QueueRef) (Head, bool) {
	p := w.places[ref]
	if p == nil || p.consumed || !p.fast || len(p.line.earliest) == 0 || len(p.line.latest) == 0 {
		return Head{}, false
	}
	return Head{p.line.earliest[0].at, p.line.latest[0].at, p.leftAt}, true
}
