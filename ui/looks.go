package ui

import "dlxtop/model"

// looks remembers, of each buffer that somebody looked at, when its messages leave. Only the root adds to it.
type looks struct {
	waits map[model.QueueRef]*model.Waits
}

// mostRemembered bounds how many messages are remembered of one look: about 200 bytes each.
const mostRemembered = 20_000

func newLooks() *looks { return &looks{waits: map[model.QueueRef]*model.Waits{}} }

// remember takes a new look at a queue in; nil when there is nothing to tell of it.
func (l *looks) remember(ref model.QueueRef, w *model.Waits) {
	delete(l.waits, ref)
	if w != nil && len(w.Messages) <= mostRemembered {
		l.waits[ref] = w
	}
}

// in finds the looks that a topology's counts do not contradict.
func (l *looks) in(t *model.Topology) func(model.QueueRef) *model.Waits {
	return func(ref model.QueueRef) *model.Waits {
		if l == nil {
			return nil
		}
		w := l.waits[ref]
		if q, ok := t.Queue(ref); w == nil || !ok || !w.Holds(q, statisticsLag) {
			return nil
		}
		return w
	}
}
