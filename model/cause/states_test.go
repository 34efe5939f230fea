package cause

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

func groupOf(text string, messages int, last time.Time) *Group {
	c := Of(mail, failed(text))
	g := &Group{ID: c.ID(), Cause: c, Messages: messages}
	if !last.IsZero() {
		g.Last = model.Some(last)
	}
	return g
}

// What was resolved is back when it fails again, and not when older failures are read later.
func TestResolvedCauseIsBackWhenItFailsAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name             string
		last, later      time.Time // the newest failure when it was resolved, and when it is looked at again
		messages, behind int
		want             State
	}{
		{"the same messages", now.Add(-time.Minute), now.Add(-time.Minute), 3, 3, Resolved},
		{"older ones, read later", now.Add(-time.Hour), now.Add(-time.Minute), 3, 30, Resolved},
		{"a new failure", now.Add(-time.Minute), now.Add(time.Second), 3, 1, Back},
		{"a clock that runs ahead", now.Add(time.Minute), now.Add(time.Minute), 3, 3, Resolved},
		{"no times, fewer", time.Time{}, time.Time{}, 3, 2, Resolved},
		{"no times, more", time.Time{}, time.Time{}, 3, 4, Back},
	} {
		s := States{}
		s.Mark(groupOf("E: x", c.messages, c.last), Resolved, now)
		assert.Equal(t, s.Now(groupOf("E: x", c.behind, c.later), now.Add(time.Hour)).State, c.want, "%s: it", c.name)
	}
	s := States{}
	g := groupOf("E: x", 1, now)
	assert.Equal(t, s.Now(g, now).State, New, "at first it")
	s.Mark(g, Ignored, now)
	assert.Equal(t, s.Now(groupOf("E: x", 9, now.Add(time.Hour)), now).State, Ignored, "what is ignored")
}

func TestStatesFile(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	g := groupOf("ValueError: no order 7", 3, now)
	text := must.Get(WithStates(nil, "rabbit@a", func(s States) {
		s.Mark(g, Resolved, now)
		s.Note(g, "fixed in\x1b[2J 1.2"+strings.Repeat("!", 1000))
	}))(t)
	text = must.Get(WithStates(text, "rabbit@b", func(s States) { s.Mark(g, Seen, now) }))(t)
	for broker, want := range map[string]State{"rabbit@a": Resolved, "rabbit@b": Seen, "rabbit@c": New} {
		s, err := StatesIn(text, broker)
		m := s.Of(g.ID)
		assert.That(t, err == nil && m.State == want, "at %s it is %+v: %v", broker, m, err)
	}
	s, _ := StatesIn(text, "rabbit@a")
	note := s.Of(g.ID).Note
	assert.That(t, strings.HasPrefix(note, "fixed in") && len(note) <= mostNote && !strings.Contains(note, "\x1b"),
		"the note is %q", note)
	for _, damaged := range []string{
		"{", "[]", `{"format":2}`, `{"format":1,"brokers":{"a":{"nonsense":{"state":"seen"}}}}`,
		`{"format":1,"brokers":{"a":{"c33aa49c3b16":{"state":"lost"}}}}`, string(text[:len(text)/2]), "\x00\x01",
	} {
		if _, err := StatesIn([]byte(damaged), "a"); !errors.Is(err, ErrStates) {
			t.Errorf("%q is read: %v", damaged, err)
		}
		if _, err := WithStates([]byte(damaged), "a", func(States) {}); !errors.Is(err, ErrStates) {
			t.Errorf("%q is changed: %v", damaged, err)
		}
	}
}

// The file stays small: what was only seen is forgotten first.
func TestStatesAreBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	text, err := WithStates(nil, "a", func(s States) {
		for i := range 3 * mostMarks {
			id := ID(fmt.Sprintf("%012x", i))
			s[id] = Mark{State: Seen, At: now.Add(time.Duration(i) * time.Second)}
			if i < 10 {
				s[id] = Mark{State: Resolved, At: now}
			}
		}
	})
	must.Do(t, err)
	s, err := StatesIn(text, "a")
	must.That(t, len(s) == mostMarks && err == nil, "%d are left: %v", len(s), err)
	assert.That(t, s.Of("000000000003").State == Resolved && s.Of(ID(fmt.Sprintf("%012x", 3*mostMarks-1))).State == Seen,
		"the wrong ones are left")
}

func FuzzStates(f *testing.F) {
	f.Add([]byte(`{"format":1,"brokers":{"a":{"c33aa49c3b16":{"state":"seen","note":"x"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := WithStates(text, "a", func(States) {})
		if err != nil {
			return
		}
		again, err := WithStates(out, "a", func(States) {})
		must.That(t, err == nil && bytes.Equal(out, again), "%q is not read again: %v", out, err)
	})
}
