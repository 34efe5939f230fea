package plan

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// Only a buffer that passes what is published to it by name to the worker alone.
func TestLaterIsABufferOfTheWorkerAlone(t *testing.T) {
	worker := build.Text(`
		queue w dlx=x key=failed consumers=1
		queue w.failed
		exchange direct x
		bind x failed w.failed
		bind x w w
		queue w.other
	`)

	for name, buffer := range map[string]string{
		"with a key":                     "queue w.retry ttl=30000 dlx=x key=w",
		"by the default exchange":        "queue w.retry ttl=30000 dlx= key=w",
		"not to two":                     "queue w.retry ttl=30000 dlx=x key=w\nbind x w w.other",
		"not by the message's own key":   "queue w.retry ttl=30000 dlx=x\nbind x # w.other",
		"not one that drops its oldest":  "queue w.retry ttl=30000 dlx=x key=w max-length=5",
		"not with the messages' own TTL": "queue w.delay dlx=x key=w",
	} {
		topology := build.Described("4.0.5", buffer, worker)
		holds := !strings.HasPrefix(name, "not")
		got := Laters(topology, build.Ref("w.failed"))
		want := Later{build.Ref("w.retry"), build.Ref("w"), 30 * time.Second}
		assert.Equal(t, len(got) == 1, holds, "%s: %+v", name, got)
		assert.That(t, !holds || got[0] == want, "%s: %+v", name, got)
	}
}

func TestSpreadHasARateAndWords(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue f
		queue w
	`)
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
	topology := build.Described("4.0.5", `
		queue f
		queue w
	`)
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
			hold, timeout := LongestHold(topology, build.Ref("f"))
			refusal = Refusal{tooSlow(max(int(c.rate*25*60), 1), hold, timeout)}
		}
		assert.That(t, reflect.DeepEqual(p.Refusal, refusal), "%d at %v/s: %q, want %q", c.planned, c.rate, p.Refusal.Words(),
			refusal.Words())
		assert.That(t, !p.Refusal.Overridable(), "%d at %v/s: %q, want %q", c.planned, c.rate, p.Refusal.Words(),
			refusal.Words())
	}
}

// The consumer timeout is the lower one of argument and policy; classic queues have none from 4.3.
func TestLongestHold(t *testing.T) {
	for _, c := range []struct{ version, queue, hold, timeout string }{
		{"3.10.8", "quorum f x-consumer-timeout=6000", "25m", "30m (default)"},
		{"4.0.5", "queue f x-consumer-timeout=6000 policy=p,consumer-timeout=12000", "5s", "6s (argument)"},
		{"4.0.5", "queue f x-consumer-timeout=6000 policy=p,consumer-timeout=3000", "2.5s", "3s (policy p)"},
		{"4.3.6", "quorum f policy=p,consumer-timeout=7200000", "1h40m", "2h (policy p)"},
		{"4.3.6", "quorum f", "25m", "30m (default)"},
		{"4.3.6", "queue f", "1d", "not set"},
	} {
		hold, timeout := LongestHold(build.Described(c.version, c.queue), build.Ref("f"))
		assert.Equal(t, model.ShortDuration(hold), c.hold, "%s %s", c.version, c.queue)
		assert.Equal(t, timeout.String(), c.timeout, "%s %s", c.version, c.queue)
	}
}

// What a buffer passes on meets the limit of the worker behind it.
func TestTheLimitOfAWorkerBehindABuffer(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue w.failed
		buffer w.retry w 30000
		queue w max-length=1 dlx= key=w.failed
	`)
	m := failedBy("w", nil, message.Properties{})
	plan := New(topology, replayOf("w.failed", "queue:w.retry", m, m))
	assert.Equal(t, plan.Losses[0].Queue, plan.Counted(topology)[0], "what is lost, and counted")
}
