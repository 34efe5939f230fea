// Package around has what filters ask of a message that it does not say itself: its worker and flow, its tries, replays
// and copies. Each value is that of the function which screens and plans use.
package around

import (
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

// Look is a look at a queue.
type Look struct {
	Topology *model.Topology
	Queue    model.QueueRef
	Messages message.Messages // that were read; nil: copies are unknown
	Replayed func() Replayed  // called once, when it is needed; nil: what was replayed is unknown
}

// Replayed has what was replayed earlier: *plan.Doubles.
type Replayed interface {
	// Sent returns how often a message was sent to a queue; unknown where nothing tells it from others.
	Sent(m *message.Message, to model.QueueRef) model.Opt[int]
}

// Filter returns a filter that knows of these messages what the look does.
func (l Look) Filter(f *filter.Filter) *filter.Filter { return f.About(l.Values()) }

// Values returns what the look knows of a message.
func (l Look) Values() filter.Around {
	copies := sync.OnceValue(l.copies)
	replayed := func() Replayed { return nil }
	if l.Replayed != nil {
		replayed = sync.OnceValue(l.Replayed)
	}

	return func(field string, m *message.Message) any {
		switch field {
		case "worker":
			return textOf(l.worker(m))
		case "flow":
			return textOf(l.flow(m))
		case "tries":
			return l.tries(m)
		case "replayed":
			return l.replays(m, replayed)
		case "duplicates":
			return duplicates(m, copies())
		}

		return nil
	}
}

func textOf(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// worker returns the one queue whose application failed on a message; "" where it is unknown or may be one of several.
func (l *Look) worker(m *message.Message) string {
	if names := cause.WorkersOf(l.Topology, l.Queue, m); len(names) == 1 {
		return names[0]
	}
	return ""
}

func (l *Look) flow(m *message.Message) string {
	flows := l.Topology.FlowsOf(l.Queue)
	if worker := l.worker(m); worker != "" {
		flows = l.Topology.FlowsOf(l.Queue.Beside(worker))
	}
	if len(flows) == 1 {
		return flows[0].Name
	}
	return ""
}

func (l *Look) tries(m *message.Message) any {
	tries := story.TriesOf(l.Topology, m, l.Queue, time.Now())
	switch {
	case tries.Least == 0 && tries.Most == 0:
		return nil
	case tries.Least == tries.Most:
		return int(tries.Least)
	}

	return filter.Bound{Value: int(tries.Least)}
}

func (l *Look) replays(m *message.Message, replayed func() Replayed) any {
	worker := l.worker(m)
	if worker == "" {
		return nil
	}
	sent := replayed()
	if sent == nil {
		return nil
	}
	n, known := sent.Sent(m, l.Queue.Beside(worker)).Get()
	if !known {
		return nil
	}

	return n
}

// copies counts the messages of the look by what was published; nil where they cannot be read.
func (l *Look) copies() map[message.Fingerprint]int {
	if l.Messages == nil {
		return nil
	}

	copies := map[message.Fingerprint]int{}
	err := message.Each(l.Messages, 0, func(m *message.Message) {
		if o, ok := m.Original(); ok {
			copies[o.Message]++
		}
	})
	if err != nil {
		return nil
	}

	return copies
}

// duplicates returns how many other messages are copies; nil for a message that was not among those that were read.
func duplicates(m *message.Message, copies map[message.Fingerprint]int) any {
	o, ok := m.Original()
	if n := copies[o.Message]; ok && n > 0 {
		return n - 1
	}
	return nil
}
