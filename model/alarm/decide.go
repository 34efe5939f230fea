package alarm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	endsAfter = 2      // polls in a row that say so: a look of another program empties a queue for a moment
	goneAfter = 4      // polls without the thing: after a restart of the broker, not all is there at once
	mostEach  = 10_000 // things of one rule, and events that are not delivered
)

// Things are the facts of one kind of thing, by a poll.
type Things struct {
	Facts  []Thing
	Unsure bool // not all of them could be read: one that is missing may be there
}

// State is what a watch knows of one rule. It is stored as JSON.
type State struct {
	At          time.Time         `json:"at"` // of the last poll
	Alarms      map[string]*alarm `json:"alarms"`
	Undelivered []*Event          `json:"undelivered"`
}

// alarm is a thing for which the condition holds.
type alarm struct {
	Since time.Time     `json:"since"`
	Held  time.Duration `json:"held"` // by a clock that does not jump, while the watch ran
	Begun bool          `json:"begun"`
	Event Event         `json:"event"` // as it was seen last

	Doubts int `json:"doubts,omitempty"` // polls in a row that say that it ended
	Gone   int `json:"gone,omitempty"`   // polls in a row without the thing
}

// Event is that a rule begins or ends to hold for a thing.
type Event struct {
	Event   string          `json:"event"`               // begins or ends
	Alarm   string          `json:"alarm"`               // identifies it: the same when it begins and when it ends
	Rule    string          `json:"rule"`                // as it was given
	Per     Per             `json:"per"`                 // flow, queue, vhost, cause or finding
	Subject string          `json:"subject"`             // for what: its name, in words
	Broker  string          `json:"broker"`              // the name of the cluster
	At      string          `json:"at"`                  // when that was seen
	Since   string          `json:"since"`               // when it was first seen to hold
	Lasted  int64           `json:"lasted_ms,omitempty"` // when it ends: since then, while the watch ran
	Shown   string          `json:"shown,omitempty"`     // the facts that the rule is about, in words
	Facts   json.RawMessage `json:"facts"`               // those of the thing, by their names; without unknown ones

	Tries int `json:"-"` // to deliver it
	Wait  int `json:"-"` // polls before the next one
}

// Words tell the event in one line.
func (e *Event) Words() string {
	words := model.Sayf("%s %-6s %s: %v", e.At, e.Event, e.Subject, e.Rule)
	if e.Shown != "" {
		words += " (" + e.Shown + ")"
	}
	return words
}

// Decide takes the things of a poll, and adds what begins and ends to what is to be delivered. elapsed is the time
// since the last poll, by a clock that does not jump. It returns for which things the rule could not be decided, and
// why; the error is a mistake in the rule.
func (s *State) Decide(r *Rule, broker string, at time.Time, elapsed time.Duration, things Things) (
	unknown map[string]string, err error,
) {
	if s.Alarms == nil {
		s.Alarms = map[string]*alarm{}
	}
	s.At, unknown = at, map[string]string{}
	there := map[string]bool{}

	for _, thing := range things.Facts {
		holds, err := r.condition.Holds(func(name string) any { return thing.Values[name] })
		if err := knownMistake(err); err != nil {
			return unknown, err
		}
		key := string(r.Per) + "\x00" + thing.Key
		there[key] = true
		if err != nil {
			unknown[thing.Subject] = err.Error()
			continue
		}
		s.take(r, broker, at, elapsed, key, &thing, holds)
	}

	for _, key := range slices.Sorted(maps.Keys(s.Alarms)) {
		a := s.Alarms[key]
		if there[key] || things.Unsure {
			continue
		}
		a.Gone++
		if a.Gone >= goneAfter || r.Per == PerCause {
			s.doubt(key, a, at)
		}
	}

	return unknown, nil
}

// knownMistake returns an error of a condition that is a mistake in it, not a fact that is unknown.
func knownMistake(err error) error {
	var unknown *filter.Unknown
	if errors.As(err, &unknown) {
		return nil
	}
	return err
}

func (s *State) take(
	r *Rule, broker string, at time.Time, elapsed time.Duration, key string, thing *Thing, holds bool,
) {
	a := s.Alarms[key]
	switch {
	case a == nil && (!holds || len(s.Alarms) >= mostEach):
		return
	case a == nil:
		a = &alarm{Since: at}
		s.Alarms[key] = a
		sum := sha256.Sum256([]byte(broker + "\x00" + r.Text + "\x00" + key + "\x00" + message.JSONTime(at)))
		a.Event = Event{
			Alarm: hex.EncodeToString(sum[:6]), Rule: r.Text, Per: r.Per, Subject: thing.Subject, Broker: broker,
			Since: message.JSONTime(at),
		}
	case holds && a.Doubts == 0:
		a.Held += elapsed
	}

	a.Gone = 0
	a.Event.Facts, a.Event.Shown = thing.JSON(), thing.words(r.condition.Uses)
	if !holds {
		s.doubt(key, a, at)
		return
	}

	a.Doubts = 0
	if !a.Begun && a.Held >= r.For {
		a.Begun = true
		s.tell(a, "begins", at)
	}
}

// doubt ends an alarm when enough polls say so.
func (s *State) doubt(key string, a *alarm, at time.Time) {
	a.Doubts++
	if a.Begun && a.Doubts < endsAfter {
		return
	}
	delete(s.Alarms, key)
	if a.Begun {
		a.Event.Lasted = a.Held.Milliseconds()
		s.tell(a, "ends", at)
	}
}

func (s *State) tell(a *alarm, what string, at time.Time) {
	event := a.Event
	event.Event, event.At = what, message.JSONTime(at)
	s.Undelivered = append(s.Undelivered, &event)
	s.Undelivered = s.Undelivered[max(len(s.Undelivered)-mostEach, 0):]
}

// Firing returns what has begun and not ended.
func (s *State) Firing() (all []Event) {
	for _, key := range slices.Sorted(maps.Keys(s.Alarms)) {
		if a := s.Alarms[key]; a.Begun {
			all = append(all, a.Event)
		}
	}
	return all
}

// mostWait is the longest pause before an event is tried again, in polls.
const mostWait = 30

// Deliver calls send with each event that is due, in order, and forgets those that it takes. One that it refuses is
// tried again later, and holds back only those of the same alarm. The error is the last one.
func (s *State) Deliver(send func(*Event) error) (err error) {
	held := map[string]bool{}
	s.Undelivered = slices.DeleteFunc(s.Undelivered, func(e *Event) bool {
		if e.Wait--; e.Wait > 0 || held[e.Alarm] {
			held[e.Alarm] = true
			return false
		}
		failed := send(e)
		if failed == nil {
			return true
		}

		err = failed
		held[e.Alarm] = true
		e.Tries++
		e.Wait = min(1<<min(e.Tries-1, 10), mostWait)
		return false
	})

	return err
}
