package story

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A framework can record the time before which its worker does not run a message (Celery's eta). A worker takes such a
// message early and holds it, so that time does not show when the message leaves a worker's queue, nor when it leaves a
// buffer whose TTL the publisher did not derive from it. On its way through levels that delay as one it does: the
// publisher derived the delay, in whole seconds, from the eta, and its routing key contains the levels that make up
// this delay.

// runs returns the event of the time before which a message's worker does not run it.
func runs(m *message.Message, now time.Time) (Event, bool) {
	at, held, ok := m.Eta()
	if !ok || !held || !at.After(now) {
		return Event{}, false
	}

	return Event{
		Kind: Runs, What: model.Sayf("in %s at the earliest", roundedUp(at.Sub(now))),
		Note: "its worker holds it until its eta",
	}, true
}

// passage is the levels of a delay that a message passes from some level on, highest first.
type passage struct {
	levels []model.QueueRef
	at     int
}

// passageThrough returns the passage from a queue on; it has no levels when the queue is not a level.
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

// enteredBy derives a message's arrival in a level from its eta, by the publisher's clock. A delay is truncated to
// whole seconds, so the message leaves the last level up to a second before its eta.
func (p passage) enteredBy(m *message.Message, t *model.Topology) (from, to time.Time, ok bool) {
	at, held, ok := m.Eta()
	if !ok || !held || len(p.levels) == 0 {
		return from, to, false
	}
	ahead, ok := p.ahead(t, m.RoutingKey)
	return at.Add(-ahead - time.Second), at.Add(-ahead), ok
}

// ahead returns how long a message waits from its arrival in the level on: its routing key has a word for each level,
// which is 1 where it waits. It is false when the key does not pass this level.
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
