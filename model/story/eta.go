package story

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A framework can write the time before which its worker does not run a message (Celery's eta). A worker takes such a
// message early and holds it, so that time says nothing of when the message leaves a worker's queue, and nothing of a
// buffer whose TTL the publisher did not make of it. On its way through levels that delay as one it does: the publisher
// took the delay, in whole seconds, from the eta, and its routing key has the levels that make up this delay.

// runs is the time before which the worker of a message does not run it.
func runs(m *message.Message, now time.Time) (Event, bool) {
	at, held, ok := m.Eta()
	if !ok || !held || !at.After(now) {
		return Event{}, false
	}
	return Event{
		Kind: Runs, What: "in " + model.ShortDuration(roundedUp(at.Sub(now))) + " at the earliest",
		Note: "its worker holds it until its eta",
	}, true
}

// passage is a level on a way through levels that delay as one, the highest first.
type passage struct {
	levels []model.QueueRef
	at     int
}

// passageThrough is the way that the messages of a queue are on; it has no levels when the queue is none.
func passageThrough(t *model.Topology, ref model.QueueRef) passage {
	for _, f := range t.FlowsOf(ref) {
		for _, b := range f.Buffers {
			if at := slices.Index(b.Levels, ref); at >= 0 {
				levels := slices.Clone(b.Levels)
				slices.Reverse(levels)
				return passage{levels, len(levels) - 1 - at}
			}
		}
	}
	return passage{}
}

// enteredBy dates the arrival of a message in a level by its eta, by the publisher's clock. A delay is cut off to whole
// seconds, so that the message leaves the last level within a second before its eta.
func (p passage) enteredBy(m *message.Message, t *model.Topology) (from, to time.Time, ok bool) {
	at, held, ok := m.Eta()
	if !ok || !held || len(p.levels) == 0 {
		return from, to, false
	}
	ahead, ok := p.ahead(t, m.RoutingKey)
	return at.Add(-ahead - time.Second), at.Add(-ahead), ok
}

// ahead is how long a message waits from when it comes into the level on: its routing key has a word for each level,
// which is 1 where it waits. It is false when the key does not say that it is here.
func (p passage) ahead(t *model.Topology, key string) (time.Duration, bool) {
	words := strings.SplitN(key, ".", len(p.levels)+1)
	if len(words) < len(p.levels) || words[p.at] != "1" {
		return 0, false
	}
	var ahead time.Duration
	for i, level := range p.levels {
		switch words[i] {
		case "0":
		case "1":
			if i >= p.at {
				ahead += t.Settings(level).TTL.Value
			}
		default:
			return 0, false
		}
	}
	return ahead, true
}
