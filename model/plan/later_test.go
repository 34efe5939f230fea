package plan

import (
	"reflect"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// Only a buffer that passes what is published to it by name to the worker alone.
func TestLaterIsABufferOfTheWorkerAlone(t *testing.T) {
	worker := []build.Part{
		build.Text(`
			queue w dlx=x key=failed consumers=1
			queue w.failed
			exchange direct x
			bind x failed w.failed
			bind x w w
			queue w.other
		`),
	}

	for _, c := range []struct {
		name  string
		parts []build.Part
		want  bool
	}{
		{"with a key", []build.Part{build.Text("queue w.retry ttl=30000 dlx=x key=w")}, true},
		{"by the default exchange", []build.Part{
			build.Text("queue w.retry ttl=30000 dlx= key=w"),
		}, true},
		{"to two", []build.Part{
			build.Text(`
				queue w.retry ttl=30000 dlx=x key=w
				bind x w w.other
			`),
		}, false},
		{"by the message's own key", []build.Part{
			build.Text(`
				queue w.retry ttl=30000 dlx=x
				bind x # w.other
			`),
		}, false},
		{"that drops its oldest", []build.Part{
			build.Queue("w.retry", build.TTL(30_000), build.DLX("x"), build.DeadKey("w"), build.Argument("x-max-length", 5)),
		}, false},

		{"with the messages' own TTL", []build.Part{build.Text("queue w.delay dlx=x key=w")}, false},
	} {
		topology := build.TopologyOf("4.0.5", append(c.parts, worker...)...)
		got := Laters(topology, build.Ref("w.failed"))
		want := Later{build.Ref("w.retry"), build.Ref("w"), 30 * time.Second}
		assert.Equal(t, c.want, len(got) == 1, "%s: %+v", c.name, got)
		assert.That(t, !c.want || got[0] == want, "%s: %+v", c.name, got)
	}
}

func TestSpreadHasARateAndWords(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Text(`
		queue f
		queue w
	`))
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
		assert.Equal(t, p.Rate, c.rate, "%v", c.planned)
		assert.Equal(t, p.PaceWords(), c.words, "%v", c.planned)
	}
}

// Messages that are selected one by one are all held until the last of them is sent.
func TestTooSlow(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Text(`
		queue f
		queue w
	`))
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
		want.Planned = c.planned
		want.Rate = c.rate
		want.Selection = c.selection
		p := New(topology, want)
		var refusal Refusal

		if c.refused {
			refusal = Refusal{tooSlow(max(int(c.rate*25*60), 1))}
		}
		assert.That(t, reflect.DeepEqual(p.Refusal, refusal), "%d at %v/s: %q, want %q", c.planned, c.rate, p.Refusal.Words(),
			refusal.Words())
		assert.That(t, !p.Refusal.Overridable(), "%d at %v/s: %q, want %q", c.planned, c.rate, p.Refusal.Words(),
			refusal.Words())
	}
}

// What a buffer passes on meets the limit of the worker behind it.
func TestTheLimitOfAWorkerBehindABuffer(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Text(`
		queue w.failed
		buffer w.retry w 30000
		queue w max-length=1 dlx= key=w.failed
	`))
	m := failedBy("w", nil, message.Properties{})
	plan := New(topology, replayOf("w.failed", "queue:w.retry", m, m))
	assert.Equal(t, plan.Losses[0].Queue, plan.Counted(topology)[0], "what is lost, and counted")
}
