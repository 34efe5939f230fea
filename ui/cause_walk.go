package ui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/ui/term"
)

// causeWalk is one action on a cause that is in several queues: it goes from one to the next, and each is read, planned
// and agreed to by itself, because each has its own way to its worker.
type causeWalk struct {
	then   afterLook
	only   ofCause
	queues []model.QueueRef             // in the order in which they are gone through
	limits func(model.QueueRef) int     // of the look at each
	done   map[model.QueueRef]queueDone // what has happened; shared with the list of the queues
}

// queueDone is how a queue was left: what is said of it, and whether it went as planned.
type queueDone struct {
	words string // printable
	well  bool
}

// next is the queue behind another one to which nothing has been done yet, and how many such there are with it.
func (w *causeWalk) next(queue model.QueueRef) (next model.QueueRef, left int) {
	if w == nil {
		return next, 0
	}
	behind := false
	for _, q := range w.queues {
		if _, done := w.done[q]; behind && !done {
			if left++; left == 1 {
				next = q
			}
		}
		behind = behind || q == queue
	}
	return next, left
}

// words say what comes behind a queue; "" when nothing does.
func (w *causeWalk) words(queue model.QueueRef) string {
	next, left := w.next(queue)
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("next queue: %s (%d left)", term.Cut(model.Printable(next.Name), 30, "…"), left)
}

// onward leaves a queue for the next one.
func (w *causeWalk) onward(e *env, queue model.QueueRef) tea.Cmd {
	next, left := w.next(queue)
	if left == 0 {
		return nil
	}
	s := newCauseScreen(e, next, w.only, w.limits(next), w.then).(messagesScreen)
	s.walk = w
	return func() tea.Msg { return insteadMsg{s} }
}
