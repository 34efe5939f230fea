package watch

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Head is what counts show of the message at the head of a queue.
type Head struct {
	After time.Time // it came after that; zero: before the first count
	By    time.Time // it was there
	Left  time.Time // when something was last seen leaving the queue; zero: never since counting began
}

// HeadArrived returns what is known of the message at the head of a queue: nothing for a queue with consumers, or
// without counts other than polls.
func (w *Watch) HeadArrived(ref model.QueueRef) (Head, bool) {
	p := w.places[ref]
	if p == nil || p.consumed || !p.fast || len(p.line.earliest) == 0 || len(p.line.latest) == 0 {
		return Head{}, false
	}
	return Head{p.line.earliest[0].at, p.line.latest[0].at, p.leftAt}, true
}
