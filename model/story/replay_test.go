package story

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestStoryTellsReplays(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	m := message.Message{Headers: model.Table{
		message.ReplayHeader: model.Table{"count": int64(2), "time": at},
		"x-death": []any{
			model.Table{
				"queue": "retry", "reason": "expired", "count": int64(1), "exchange": "",
				"time": at.Add(30 * time.Second), "routing-keys": []any{"k"},
			},
		},
	}}
	m.Deaths, _ = message.ParseDeaths(m.Headers)
	var whats []string
	for _, e := range Of(&m, model.QueueRef{VHost: "/", Name: "failed"}) {
		whats = append(whats, e.What)
		assert.That(t, e.Kind != Replayed || e.Time.Equal(at) && e.TimeExact, "%+v", e)
	}
	assert.That(t, len(whats) == 4 && whats[1] == "replayed 2 times", "%q", whats)
}
