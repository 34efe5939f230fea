package cause

import (
	"slices"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestRecent(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	g, queue := NewGroups(), model.QueueRef{VHost: "/", Name: "mail.failed"}
	for i, ago := range []time.Duration{
		-time.Minute, 0, 9 * time.Minute, 10 * time.Minute, 59 * time.Minute, 60 * time.Minute, 48 * time.Hour,
	} {
		m := message.Message{Deaths: []message.Death{{Reason: model.Rejected, Queue: "mail", Count: 1, Time: now.Add(-ago)}}}
		m.Fingerprint[0] = byte(i)
		g.Add(queue, &m)
	}
	g.Add(queue, failed("order 12 not found")) // it does not say when
	recent := g.Recent(now, time.Hour, 6)
	id := (Cause{Evidence: ByDeath, Kind: "rejected", Queue: "mail"}).ID()
	want := []float64{1, 0, 0, 0, 1, 3}
	assert.That(t, len(recent) == 1 && slices.Equal(recent[id], want), "it is %v, not %v", recent, want)
	g.Forget(queue)
	if recent := g.Recent(now, time.Hour, 6); len(recent) != 0 {
		t.Errorf("without messages it is %v", recent)
	}
}
