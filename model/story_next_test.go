package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ladder is a worker whose failures wait 10 s, 60 s and 300 s, and then lie in a failed queue; the worker publishes them there.
func ladder(more ...part) []part {
	rung := func(name string, ms int64) part {
		return queue(name, dlx(""), deadKey("mail"), ttl(ms))
	}
	return append([]part{
		queue("mail", consumers(1)), queue("mail.failed"),
		rung("mail.retry.10s", 10_000), rung("mail.retry.60s", 60_000), rung("mail.retry.300s", 300_000),
	}, more...)
}

func diedIn(counts ...any) []Death {
	var deaths []Death
	for i := 0; i < len(counts); i += 2 {
		deaths = append(deaths, Death{Queue: counts[i].(string), Reason: Expired, Count: int64(counts[i+1].(int)), Time: noon})
	}
	return deaths
}

func TestStoryAhead(t *testing.T) {
	direct := []part{exchange("direct", "dlx"), bind("dlx", "k", "w"), queue("w")}
	delayed := func(settings ...setting) []part {
		return append(direct, queue("q", append([]setting{dlx("dlx"), deadKey("k")}, settings...)...))
	}
	for _, c := range []struct {
		name  string
		parts []part
		in    string
		m     Message
		want  []string
	}{
		{"in a delayed buffer", delayed(ttl(30_000)), "q", Message{}, []string{"next | w in ≤ 30s | through dlx"}},
		{
			"in a delayed buffer, exactly", delayed(ttl(30_000)), "q",
			Message{Headers: Table{"timestamp_in_ms": noon.UnixMilli() - 25_000}},
			[]string{"next | w in 5.0s | through dlx"},
		},
		{"each its own TTL, and it has none", delayed(), "q", Message{}, []string{"next | stays: nothing expires it |"}},
		{"an expiration that is none", delayed(), "q", Message{Properties: Properties{Expiration: "1099511627776"}}, []string{"next | stays: nothing expires it |"}},
		{"into nothing", []part{exchange("direct", "dlx"), queue("q", dlx("dlx"), ttl(1000))}, "q", Message{RoutingKey: "k"}, []string{"next | is lost in ≤ 1s | through dlx, where no queue takes it"}},
		{"dropped", []part{queue("q", ttl(1000))}, "q", Message{}, []string{"next | is dropped in ≤ 1s | the queue has no dead-letter exchange"}},
		{"consumed", []part{queue("q", consumers(2))}, "q", Message{}, []string{"next | a consumer takes it |"}},
		{"vanished", nil, "q", Message{}, []string{"next | the queue is gone |"}},
		{
			"on the ladder's second rung", ladder(), "mail.retry.60s",
			Message{Deaths: diedIn("mail.retry.10s", 1)},
			[]string{"tries | 2 |", "ladder | 10s ✓ › ▸1m › 5m |", "next | mail in ≤ 1m | through (default)"},
		},
		{
			"down the whole ladder", ladder(), "mail.failed",
			Message{Deaths: diedIn("mail.retry.300s", 1, "mail.retry.60s", 2, "mail.retry.10s", 1)},
			[]string{"tries | 5 |", "ladder | 10s ✓ › 1m ✓×2 › 5m ✓ |", "next | stays: nothing expires it |"},
		},
		{
			"in the failed queue, and nothing tells how", ladder(), "mail.failed",
			Message{},
			[]string{"ladder | 10s › 1m › 5m |", "next | stays: nothing expires it |"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			topology := topologyOf("3.12.0", c.parts...)
			c.m.Position = 1
			peeked := Peeked{Messages: MessageList{c.m}, TakenAt: noon}
			var wait *Wait
			if w := topology.WaitsIn(ref(c.in), peeked, Sight{}); w != nil {
				wait = &w.Messages[0]
			}
			var got []string
			for _, e := range topology.StoryAhead(&c.m, ref(c.in), wait, noon) {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s | %s | %s", e.Kind, strings.TrimSpace(e.What+e.Where+" "+e.Detail), e.Note)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTriesInAFlow(t *testing.T) {
	rejects := []part{
		queue("w", dlx(""), deadKey("w.retry"), consumers(1)), queue("w.retry", dlx(""), deadKey("w"), ttl(30_000)), queue("w.failed"),
	}
	hour := Properties{Timestamp: noon.Add(-time.Hour)}
	rejected := func(n int64) []Death {
		return []Death{{Queue: "w", Reason: Rejected, Count: n}, {Queue: "w.retry", Reason: Expired, Count: n}}
	}
	for _, c := range []struct {
		name, version string
		parts         []part
		in            string
		m             Message
		want          string
	}{
		{"rejected into the buffer", "4.0.5", rejects, "w.retry", Message{Deaths: rejected(214)}, "214"},
		{"on its first way", "4.0.5", rejects, "w", Message{}, "0"},
		{"republished, counted by the broker", "3.10.8", ladder(), "mail.retry.10s", Message{Properties: hour, Deaths: diedIn("mail.retry.10s", 213)}, "214"},
		{"republished, not counted", "4.0.5", ladder(), "mail.retry.10s", Message{Properties: hour, Deaths: diedIn("mail.retry.10s", 1)}, "2 to 361"},
		{"republished, not counted, no time", "4.0.5", ladder(), "mail.retry.10s", Message{}, "1 at least"},
		{"counted by its worker", "4.0.5", ladder(), "mail.retry.10s", Message{Properties: hour, Headers: Table{"x-tries": int32(7)}}, "7"},
		{"a count that is none", "3.10.8", ladder(), "mail.retry.10s", Message{Headers: Table{"x-tries": int64(1) << 62}}, "1"},
		{"absurd deaths", "3.10.8", ladder(), "mail.failed", Message{Deaths: []Death{{Queue: "mail.retry.10s", Reason: Expired, Count: 1<<63 - 1}}}, "9,223,372,036,854,775,807"},
		{"an absurd timestamp", "4.0.5", ladder(), "mail.retry.10s", Message{Properties: Properties{Timestamp: time.Unix(1<<40, 0)}}, "1 at least"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries := topologyOf(c.version, c.parts...).Tries(&c.m, ref(c.in), noon)
			if got := tries.Words(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
