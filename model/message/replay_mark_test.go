package message

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func TestReplayMark(t *testing.T) {
	m := Message{Headers: model.Table{"kept": "x"}}
	for n := int64(1); n <= 3; n++ {
		p := Publishing{Headers: model.Table{"kept": "x"}}
		p.Mark(&m, "a")
		m = Message{Headers: p.Headers}
		if _, text := p.Headers[ReplayHeader].(string); !text || !m.MarkedBy("a") || m.MarkedBy("b") || m.MarkedBy("") {
			t.Errorf("the mark is %v", p.Headers[ReplayHeader])
		}
		got, last, ok := m.Replays()
		assert.That(t, ok && got == n && time.Since(last) <= time.Minute && m.Headers["kept"] == "x",
			"after %d: %d %s %t", n, got, last, ok)
	}
	for _, test := range []struct {
		value any
		words string
	}{
		{nil, ""},
		{"twice", ""},
		{"count=", ""},
		{"count=-1; time=2026-11-22T05:00:00Z", ""},
		{"count=99999999999999999999999", ""},
		{"count=1", "replayed once"},
		{"count=2; time=yesterday; replay=a; more=b", "replayed 2 times"},
		{model.Table{"count": "2"}, ""},
		{model.Table{"count": int64(-1)}, ""},
		{model.Table{"count": int64(1)}, "replayed once"},
		{model.Table{"count": int8(2), "time": "yesterday"}, "replayed 2 times"},
	} {
		m := Message{Headers: model.Table{ReplayHeader: test.value}}
		assert.Equal(t, m.ReplayedWords(), test.words, "%v", test.value)
	}
}
