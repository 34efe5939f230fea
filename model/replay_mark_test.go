package model

import (
	"testing"
	"time"
)

func TestReplayMark(t *testing.T) {
	m := Message{Headers: Table{"kept": "x"}}
	for n := int64(1); n <= 3; n++ {
		p := Publishing{Headers: Table{"kept": "x"}}
		p.mark(&m, "a")
		m = Message{Headers: p.Headers}
		got, last, ok := m.Replays()
		if !ok || got != n || time.Since(last) > time.Minute || m.Headers["kept"] != "x" {
			t.Errorf("after %d: %d %s %t", n, got, last, ok)
		}
	}
	for _, test := range []struct {
		value any
		words string
	}{
		{nil, ""},
		{"twice", ""},
		{Table{"count": "2"}, ""},
		{Table{"count": int64(-1)}, ""},
		{Table{"count": int64(1)}, "replayed once"},
		{Table{"count": int8(2), "time": "yesterday"}, "replayed 2 times"},
	} {
		m := Message{Headers: Table{ReplayHeader: test.value}}
		if got := m.ReplayedWords(); got != test.words {
			t.Errorf("%v: %q", test.value, got)
		}
	}
}

func TestStoryTellsReplays(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	m := Message{Headers: Table{ReplayHeader: Table{"count": int64(2), "time": at}, "x-death": []any{
		Table{"queue": "retry", "reason": "expired", "count": int64(1), "exchange": "", "time": at.Add(30 * time.Second), "routing-keys": []any{"k"}},
	}}}
	m.Deaths, _ = ParseDeaths(m.Headers)
	var whats []string
	for _, e := range m.Story(QueueRef{"/", "failed"}) {
		whats = append(whats, e.What)
		if e.Kind == StoryReplayed && (!e.Time.Equal(at) || !e.TimeExact) {
			t.Errorf("%+v", e)
		}
	}
	if len(whats) != 4 || whats[1] != "replayed 2 times" {
		t.Errorf("%q", whats)
	}
}
