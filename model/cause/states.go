package cause

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// State is what people have done about a cause.
type State string

const (
	New      State = "new"      // not opened yet
	Seen     State = "seen"     // it was opened
	Resolved State = "resolved" // a person marked it as fixed
	Back     State = "back"     // it occurred again after that
	Ignored  State = "ignored"  // a person marked it as unimportant
)

// AllStates are the states of causes.
var AllStates = []State{New, Seen, Resolved, Back, Ignored}

// Mark is what is kept about a cause between starts.
type Mark struct {
	State State     `json:"state"`
	At    time.Time `json:"at"`              // since when it is so
	Last  time.Time `json:"last,omitzero"`   // when resolved: of its newest failure that was known then
	Left  int       `json:"left,omitempty"`  // when resolved: its messages that were in failed queues then
	Note  string    `json:"note,omitempty"`  // one line, by a person
	Cause string    `json:"cause,omitempty"` // in words, for who reads the file
}

// States are the marks of one broker's causes. A cause without a mark is new.
type States map[ID]Mark

// Of returns the mark of a cause.
func (s States) Of(id ID) Mark {
	if m, ok := s[id]; ok {
		return m
	}
	return Mark{State: New}
}

// Now returns the mark of a cause, given its messages: a resolved cause is back when one of its messages failed later
// or, if they have no times, when there are more of them than before.
func (s States) Now(g *Group, now time.Time) Mark {
	m := s.Of(g.ID)
	if m.State != Resolved {
		return m
	}
	last, known := g.Last.Get()
	after := m.At
	if m.Last.After(after) {
		after = m.Last
	}
	if known && last.After(after) || !known && g.Messages > m.Left {
		m.State, m.At = Back, now
	}

	return m
}

// Without returns the causes without the messages of some queues, for Now: messages known only from an index may have
// left, so their number must not bring a cause back.
func Without(list []Group, earlier model.QueueSet) []Group {
	if len(earlier) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		for _, in := range list[i].Queues {
			if earlier[in.Of] {
				list[i].Messages -= in.Messages
			}
		}
	}

	return list
}

// Mark puts a cause into a state.
func (s States) Mark(g *Group, state State, now time.Time) {
	m := s.Of(g.ID)
	m.State, m.At = state, now.UTC().Truncate(time.Millisecond)
	m.Cause = message.WholeRunes(g.Cause.String(), mostKind)
	m.Last, m.Left = time.Time{}, 0
	if state == Resolved {
		m.Last = g.Last.Or(time.Time{})
		m.Left = g.Messages
	}

	s[g.ID] = m
}

// Note attaches a line of text to a cause; "" removes it.
func (s States) Note(g *Group, text string) {
	m := s.Of(g.ID)
	m.Note = message.WholeRunes(model.Printable(text), mostNote)
	m.Cause = message.WholeRunes(g.Cause.String(), mostKind)
	s[g.ID] = m
}

const (
	mostNote  = 200  // bytes
	mostMarks = 2000 // of one broker, so that the file stays small: the oldest that were only seen are dropped first
	format    = 1
)

// statesFile is a file of states.
type statesFile struct {
	Format  int               `json:"format"`
	Brokers map[string]States `json:"brokers"` // by the name of the cluster
}

// ErrStates means that a file of states is damaged, or of a later version.
var ErrStates = errors.New("not a file of states that this version can read")

// StatesIn returns the states of a broker in a file; an empty file has none.
func StatesIn(text []byte, broker string) (States, error) {
	file, err := statesOf(text)
	if err != nil || file.Brokers[broker] == nil {
		return States{}, err
	}
	return file.Brokers[broker], nil
}

// WithStates returns a file with changed states of one broker. Those of other brokers stay.
func WithStates(text []byte, broker string, change func(States)) ([]byte, error) {
	file, err := statesOf(text)
	if err != nil {
		return nil, err
	}
	states := file.Brokers[broker]
	if states == nil {
		states = States{}
		model.Put(&file.Brokers, broker, states)
	}

	change(states)
	states.prune()
	file.Format = format
	out, err := json.MarshalIndent(file, "", " ")
	return append(out, '\n'), err
}

func statesOf(text []byte) (file statesFile, err error) {
	if len(text) == 0 {
		return file, nil
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return file, fmt.Errorf("%w: %w", ErrStates, err)
	}
	if file.Format != format {
		return file, fmt.Errorf("%w: format %d", ErrStates, file.Format)
	}
	for broker, states := range file.Brokers {
		for id, m := range states {
			m.Note = message.WholeRunes(model.Printable(m.Note), mostNote)
			m.Cause = message.WholeRunes(model.Printable(m.Cause), mostKind)
			if _, ok := ParseID(string(id)); !ok || !slices.Contains(AllStates, m.State) {
				return file, fmt.Errorf("%w: a state of %q", ErrStates, broker)
			}
			states[id] = m
		}
	}

	return file, nil
}

// prune drops the oldest marks when there are too many: first those that were only seen.
func (s States) prune() {
	if len(s) <= mostMarks {
		return
	}
	ids := slices.SortedFunc(maps.Keys(s), func(a, b ID) int {
		if seen := (s[a].State == Seen) != (s[b].State == Seen); seen {
			if s[a].State == Seen {
				return -1
			}
			return 1
		}
		return s[a].At.Compare(s[b].At)
	})

	for _, id := range ids[:len(s)-mostMarks] {
		delete(s, id)
	}
}
