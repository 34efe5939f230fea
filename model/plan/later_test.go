package plan

import (
	"reflect"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
)

// Only a buffer that passes what is published to it by name to the worker alone.
func TestLaterIsABufferOfTheWorkerAlone(t *testing.T) {
	worker := []build.Part{
		build.Queue("w", build.DLX("x"), build.DeadKey("failed"), build.Consumers(1)), build.Queue("w.failed"),
		build.Exchange("direct", "x"), build.Bind("x", "failed", "w.failed"), build.Bind("x", "w", "w"),
		build.Queue("w.other"),
	}
	for _, c := range []struct {
		name  string
		parts []build.Part
		want  bool
	}{
		{"with a key", []build.Part{build.Queue("w.retry", build.TTL(30_000), build.DLX("x"), build.DeadKey("w"))}, true},
		{"by the default exchange", []build.Part{
			build.Queue("w.retry", build.TTL(30_000), build.DLX(""), build.DeadKey("w")),
		}, true},
		{"to two", []build.Part{
			build.Queue("w.retry", build.TTL(30_000), build.DLX("x"), build.DeadKey("w")), build.Bind("x", "w", "w.other"),
		}, false},
		{"by the message's own key", []build.Part{
			build.Queue("w.retry", build.TTL(30_000), build.DLX("x")), build.Bind("x", "#", "w.other"),
		}, false},
		{"that drops its oldest", []build.Part{
			build.Queue("w.retry", build.TTL(30_000), build.DLX("x"), build.DeadKey("w"), build.Argument("x-max-length", 5)),
		}, false},
		{"with the messages' own TTL", []build.Part{build.Queue("w.delay", build.DLX("x"), build.DeadKey("w"))}, false},
	} {
		topology := build.TopologyOf("4.0.5", append(c.parts, worker...)...)
		got := Laters(topology, build.Ref("w.failed"))
		want := Later{build.Ref("w.retry"), build.Ref("w"), 30 * time.Second}
		assert.That(t, c.want == (len(got) == 1) && (!c.want || got[0] == want), "%s: %+v", c.name, got)
	}
}

func TestSpreadHasARateAndWords(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Queue("f"), build.Queue("w"))
	for _, c := range []struct {
		planned int
		over    time.Duration
		rate    float64
		words   string
	}{
		{600, 10 * time.Minute, 1, "at most 1/s: 600 messages take 10m or more"},
		{2, time.Minute, 1.0 / 30, "at most 0.0333/s: 2 messages take 1m or more"},
		{3000, 3 * time.Second, 1000, "at most 1,000/s: 3,000 messages take 3s or more"},
		{1, time.Second, 1, "at most 1/s: 1 message takes 1s or more"},
		{0, time.Minute, 0, ""},
		{5, 0, 0, ""},
	} {
		want := moveOf("f", "w")
		want.Planned, want.Over = c.planned, c.over
		p := New(topology, want)
		assert.That(t, p.Rate == c.rate && p.PaceWords() == c.words, "%d over %s: %v, %q", c.planned, c.over, p.Rate,
			p.PaceWords())
	}
}

// Messages that are selected one by one are all held until the last of them is sent.
func TestTooSlow(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Queue("f"), build.Queue("w"))
	oneByOne := Selection{MessageID: "m"}
	for _, c := range []struct {
		planned   int
		rate      float64
		selection Selection
		refused   bool
	}{
		{1501, 1, oneByOne, false}, // the first one is sent at once
		{1502, 1, oneByOne, true},
		{1502, 0, oneByOne, false},
		{1_000_000, 1, Selection{}, false}, // page by page
		{1_000_000, 1, Selection{Limit: 900_000}, false},
		{2, 0.0001, oneByOne, true},
	} {
		want := moveOf("f", "w")
		want.Planned, want.Rate, want.Selection = c.planned, c.rate, c.selection
		p := New(topology, want)
		var refusal Refusal
		if c.refused {
			refusal = Refusal{tooSlow(max(int(c.rate*25*60), 1))}
		}
		assert.That(t, reflect.DeepEqual(p.Refusal, refusal) && !p.Refusal.Overridable(), "%d at %v/s: %q, want %q",
			c.planned, c.rate, p.Refusal.Words(), refusal.Words())
	}
}
