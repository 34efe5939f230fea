package story

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// ladder returns a worker whose failures wait 10 s, 60 s and 300 s, and then go to a failed queue; the worker publishes
// them there.
func ladder(more ...build.Part) []build.Part {
	return append([]build.Part{
		build.Text(`
			queue mail consumers=1
			queue mail.failed
			buffer mail.retry.10s mail 10000
			buffer mail.retry.60s mail 60000
			buffer mail.retry.300s mail 300000
		`),
	}, more...)
}

func diedIn(counts ...any) []message.Death {
	var deaths []message.Death
	for i := 0; i < len(counts); i += 2 {
		deaths = append(deaths, message.Death{
			Queue: counts[i].(string), Reason: model.Expired, Count: int64(counts[i+1].(int)), Time: build.Noon,
		})
	}

	return deaths
}

// deathHeader returns the x-death for deaths in this order.
func deathHeader(deaths []message.Death) model.Table {
	var entries []any
	for _, d := range deaths {
		entries = append(entries, model.Table{"queue": d.Queue, "reason": string(d.Reason), "count": d.Count})
	}
	return model.Table{"x-death": entries}
}

func headed(headers model.Table) message.Message { return message.Message{Headers: headers} }

func TestStoryAhead(t *testing.T) {
	type expected struct {
		Name    string
		Parts   build.Part
		Unknown string
		In      string
		M       message.Message
		Want    []string
	}

	must.Run(t, "testdata/ahead.toml", func(t *testing.T, c expected) {
		s := build.Broker("3.12.0", c.Parts)
		switch c.Unknown {
		case "bindings":
			s.Bindings = nil
		case "consumers":
			s.Queues[0].Consumers = model.Unknown[int64]()
		case "policy":
			s.Queues[0].PolicyDefinition = nil
		}

		topology := model.NewTopology(s)
		c.M.Position = 1
		if len(c.M.Deaths) > 0 {
			c.M.Headers = deathHeader(c.M.Deaths)
		}

		peeked := peek.Peeked{Messages: message.MessageList{c.M}, TakenAt: build.Noon}
		var wait *Wait
		if w := waitsIn(topology, build.Ref(c.In), peeked, Sight{}); w != nil {
			wait = &w.Messages[0]
		}

		var got []string
		for _, e := range Ahead(topology, &c.M, build.Ref(c.In), wait, build.Noon) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s | %s | %s", e.Kind,
				strings.TrimSpace(e.What+e.Where+" "+e.Detail), e.Note)))
		}

		assert.Same(t, c.Want, got)
	})
}

// circle returns a worker and its retry buffer.
func circle(settings ...build.Setting) []build.Part {
	settings = append(settings, build.DLX("", "w"), build.TTL(30_000))
	return []build.Part{build.Text("queue w dlx= key=retry"), build.Queue("retry", settings...)}
}

// From 4.0 RabbitMQ ignores the x-death that a client publishes, but shows it until the message dies again. Before 3.13
// each death reverses the earlier ones, so that an old rejection counts as a later one.
func TestDeathsByVersion(t *testing.T) {
	again := message.Message{RoutingKey: "retry", Deaths: append(diedIn("w", 1, "retry", 1),
		message.Death{Queue: "w", Reason: model.Rejected, Count: 1})}
	dead := message.Message{RoutingKey: "retry", Deaths: diedIn("w", 1)}
	published := message.Message{RoutingKey: "retry", Deaths: diedIn("other", 1, "w", 1)}
	for _, c := range []struct {
		version string
		m       *message.Message
		cut     bool
	}{
		{"3.12.0", &dead, true},
		{"3.12.0", &published, true},
		{"3.13.1", &published, false},
		{"3.13.7", &published, true},
		{"4.0.5", &dead, true},
		{"4.0.5", &published, false},
		{"3.12.0", &again, false},
		{"4.0.5", &again, true},
	} {
		c.m.Headers = deathHeader(c.m.Deaths)
		topology := build.TopologyOf(c.version, append(circle(), build.Text("queue other dlx=elsewhere"))...)
		assert.Equal(t, cutOnExpiry(topology, c.m, build.Ref("retry")), c.cut, "%s, %v: cut", c.version, c.m.Deaths)
	}
}

// limited returns a flow whose worker gives up at its delivery limit, 20 by default.
func limited(settings ...build.Setting) []build.Part {
	worker := []build.Setting{build.OfType(model.Quorum), build.DLX("", "w.retry"), build.Consumers(1)}
	return []build.Part{
		build.Queue("w", append(worker, settings...)...),
		build.Buffer("w.retry", "w", 30_000),
	}
}

// limitDeaths returns the deaths of a message that returned from the buffer after each of them.
func limitDeaths(n int64) []message.Death {
	return []message.Death{
		{Queue: "w", Reason: model.DeliveryLimit, Count: n}, {Queue: "w.retry", Reason: model.Expired, Count: n},
	}
}

// The note says what x-death does not show.
func TestNoteOfADeliveryLimit(t *testing.T) {
	for limit, want := range map[int64]string{
		3:  "a death by delivery_limit takes 4 or more deliveries (delivery-limit 3 (argument))",
		-1: "a death by delivery_limit takes more deliveries than x-death counts",
	} {
		m := message.Message{Deaths: limitDeaths(1)}
		topology := build.TopologyOf("4.0.5", limited(build.Argument("x-delivery-limit", limit))...)
		assert.Equal(t, TriesOf(topology, &m, build.Ref("w.retry"), build.Noon).Note, want, "limit %d", limit)
	}
}

// From 4.3 on x-delivery-count has failures alone; before, each look adds to it.
func TestFailuresAgainstADeliveryLimit(t *testing.T) {
	const retry = " x-delayed-retry-type=all x-delayed-retry-min=20000 x-delayed-retry-max=90000"
	failed := func(n int64) message.Message {
		return message.Message{Redelivered: true, Headers: model.Table{"x-delivery-count": n}}
	}

	for _, c := range []struct {
		version, queue string
		m              message.Message
		want           string
	}{
		{
			"4.3.6", "quorum w delivery-limit=4" + retry, failed(3),
			"3 of 5 failed | delivery-limit 4 (argument); if rejected again, held back 1m20s",
		},
		{"4.3.6", "quorum w delivery-limit=4" + retry, failed(4), "4 of 5 failed | delivery-limit 4 (argument)"},
		{"4.3.6", "quorum w", failed(3), "3 of 21 failed | delivery-limit 20 (default)"},
		{"4.3.6", "quorum w delivery-limit=-1" + retry, failed(3), ""},
		{"4.3.6", "quorum w" + retry, failed(0), ""},
		{"4.0.5", "quorum w delivery-limit=4", failed(3), ""},
	} {
		got := ""
		for _, e := range Ahead(build.Described(c.version, c.queue), &c.m, build.Ref("w"), nil, build.Noon) {
			if e.Kind == Tried {
				got = e.What + " | " + e.Note
			}
		}
		assert.Equal(t, got, c.want, "%s %s", c.version, c.queue)
	}
}

func TestTriesInAFlow(t *testing.T) {
	hour := message.Properties{Timestamp: build.Noon.Add(-time.Hour)}

	type expected struct {
		Name, Version string
		Parts         []build.Part
		In            string
		M             message.Message
		Want          string
	}

	for _, c := range append(must.Cases[expected](t, "testdata/tries_in_a_flow.toml"), []expected{
		{
			"counted by its worker", "4.0.5", ladder(), "mail.retry.10s",
			message.Message{Properties: hour, Headers: model.Table{"x-tries": int32(7)}},
			"7",
		},
		{
			"counted by Celery, and failed at the last", "4.0.5", ladder(), "mail.failed",
			headed(model.Table{"task": "t", "id": "1", "root_id": "1", "retries": int32(2)}), "3",
		},
		{
			"an absurd timestamp", "4.0.5", ladder(), "mail.retry.10s",
			message.Message{Properties: message.Properties{Timestamp: time.Unix(1<<40, 0)}},
			"1 at least",
		},
	}...) {
		t.Run(c.Name, func(t *testing.T) {
			tries := TriesOf(build.TopologyOf(c.Version, c.Parts...), &c.M, build.Ref(c.In), build.Noon)
			assert.Equal(t, tries.Words(), c.Want)
		})
	}
}
