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

// ladder is a worker whose failures wait 10 s, 60 s and 300 s, and then go to a failed queue; the worker publishes them
// there.
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

// unconsumed is a queue whose consumers are unknown: statistics are off, or it is new.
func unconsumed(q *model.Queue) { q.Consumers = model.Unknown[int64]() }

func diedIn(counts ...any) []message.Death {
	var deaths []message.Death
	for i := 0; i < len(counts); i += 2 {
		deaths = append(deaths, message.Death{
			Queue: counts[i].(string), Reason: model.Expired, Count: int64(counts[i+1].(int)), Time: build.Noon,
		})
	}

	return deaths
}

// deathHeader is the x-death for deaths in this order.
func deathHeader(deaths []message.Death) model.Table {
	var entries []any
	for _, d := range deaths {
		entries = append(entries, model.Table{"queue": d.Queue, "reason": string(d.Reason), "count": d.Count})
	}
	return model.Table{"x-death": entries}
}

func dead(deaths []message.Death) message.Message { return message.Message{Deaths: deaths} }

// died is a message that died as diedIn says.
func died(counts ...any) message.Message { return dead(diedIn(counts...)) }

func headed(headers model.Table) message.Message { return message.Message{Headers: headers} }

func parts(all ...build.Part) []build.Part { return all }

func TestStoryAhead(t *testing.T) {
	direct := []build.Part{build.Text(`
		exchange direct dlx
		bind dlx k w
		queue w
	`)}
	delayed := func(settings ...build.Setting) []build.Part {
		return append(direct, build.Queue("q", append([]build.Setting{build.DLX("dlx", "k")}, settings...)...))
	}
	queue := func(settings ...build.Setting) []build.Part { return []build.Part{build.Queue("q", settings...)} }
	into := func(settings ...build.Setting) []build.Part {
		return append(queue(append(settings, build.DLX("dlx"), build.TTL(1000))...), build.Exchange("direct", "dlx"))
	}
	none := message.Message{}

	k := message.Message{RoutingKey: "k"}
	for _, c := range []struct {
		name  string
		parts []build.Part
		in    string
		m     message.Message
		want  string
	}{
		{"in a delayed buffer", delayed(build.TTL(30_000)), "q", none, "next | w in ≤ 30s | through dlx"},
		{
			"counted by its framework, which waits in memory",
			parts(build.Text(`
				queue w consumers=1 dlx= key=w.dead
				queue w.dead
			`)), "w.dead",

			headed(model.Table{"task": "charge", "id": "1", "root_id": "1", "retries": int32(2)}),
			"tries | 3 |\nnext | stays: it does not expire |",
		},
		{
			"parked by its worker, which no setting ties to the queue", ladder(build.Queue("billing.parking")),
			"billing.parking", died("mail.retry.10s", 2), "tries | 3 |\nnext | stays: it does not expire |",
		},
		{
			"in a delayed buffer, exactly", delayed(build.TTL(30_000)), "q",
			headed(model.Table{"timestamp_in_ms": build.Noon.UnixMilli() - 25_000}), "next | w in 5.0s | through dlx",
		},
		{"each its own TTL, and it has none", delayed(), "q", none, "next | stays: it does not expire |"},
		{
			"an expiration that is none", delayed(), "q",

			message.Message{Properties: message.Properties{Expiration: "1099511627776"}},
			"next | stays: it does not expire |",
		},
		{"into nothing", into(), "q", k, "next | is lost in ≤ 1s | through dlx, where no queue takes it"},
		{
			"into nothing, and kept", into(build.AtLeastOnce), "q", k,
			"next | expires in ≤ 1s, and stays until a queue takes it | through dlx, where no queue takes it; " +
				"dead-letter-strategy at-least-once",
		},
		{
			"into what is unknown",
			parts(build.Text("queue q dlx=dlx ttl=1000"), func(s *model.Snapshot) { s.Bindings = nil }), "q", k,
			"next | expires in ≤ 1s | through dlx; the bindings could not be read",
		},

		{
			"its policy is still unknown", queue(build.TTL(1000), func(q *model.Queue) { q.PolicyDefinition = nil }), "q", none,
			"next | expires in ≤ 1s | the queue's policy is still unknown",
		},
		{
			"its consumers are unknown", queue(unconsumed), "q",
			message.Message{Properties: message.Properties{Expiration: "1000"}},
			"next | depends on consumers, which are unknown |",
		},
		{
			"the consumers of a buffer are unknown", into(unconsumed), "q", k,
			"next | expires in ≤ 1s | through dlx, where no queue takes it; the queue's consumers are unknown",
		},

		{
			"the consumers of a buffer that leads on are unknown", delayed(build.TTL(30_000), unconsumed), "q", none,
			"next | w in ≤ 30s | through dlx; the queue's consumers are unknown",
		},
		{
			"back by expiry alone", circle(), "retry", died("w", 1),
			"next | is dropped in ≤ 30s | it would return to w, and was not rejected since: RabbitMQ drops it",
		},
		{
			"back after a rejection", circle(), "retry",
			message.Message{
				Deaths: []message.Death{
					{Queue: "retry", Reason: model.Expired, Count: 1}, {Queue: "w", Reason: model.Rejected, Count: 2},
				},
			},

			"tries | 2 |\nnext | w in ≤ 30s | through (default)",
		},
		{
			"back by expiry alone, and kept", circle(build.AtLeastOnce), "retry", died("w", 1),
			"next | expires in ≤ 30s, and stays in this queue | it would return to w, and was not rejected since; " +
				"dead-letter-strategy at-least-once",
		},
		{
			"back by expiry alone, and a copy elsewhere",
			parts(
				build.Text(`
					exchange fanout all
					queue v
					queue w dlx= key=q
					bind all v
					bind all w
					queue q dlx=all ttl=30000
				`),
			),

			"q", died("w", 1), "next | v in ≤ 30s | through all; not to w, where it has been, and was not rejected since",
		},
		{
			"into itself", queue(build.TTL(1000), build.DLX("")), "q",
			message.Message{RoutingKey: "q"},
			"next | is dropped in ≤ 1s | it would return to q, and was not rejected since: RabbitMQ drops it",
		},
		{"dropped", queue(build.TTL(1000)), "q", none, "next | is dropped in ≤ 1s | the queue has no dead-letter exchange"},
		{"consumed", queue(build.Consumers(2)), "q", none, "next | a consumer takes it |"},
		{"vanished", nil, "q", none, "next | the queue is gone |"},
		{
			"on the ladder's second rung", ladder(), "mail.retry.60s", died("mail.retry.10s", 1),

			"tries | 2 |\nladder | 10s ✓ › ▸1m › 5m |\nnext | mail in ≤ 1m | through (default)",
		},
		{
			"down the whole ladder", ladder(), "mail.failed",
			died("mail.retry.300s", 1, "mail.retry.60s", 2, "mail.retry.10s", 1),
			"tries | 5 |\nladder | 10s ✓ › 1m ✓×2 › 5m ✓ |\nnext | stays: it does not expire |",
		},
		{
			"in the failed queue, and how is unknown", ladder(), "mail.failed", none,
			"ladder | 10s › 1m › 5m |\nnext | stays: it does not expire |",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			topology := build.TopologyOf("3.12.0", c.parts...)

			c.m.Position = 1
			if len(c.m.Deaths) > 0 {
				c.m.Headers = deathHeader(c.m.Deaths)
			}

			peeked := peek.Peeked{Messages: message.MessageList{c.m}, TakenAt: build.Noon}
			var wait *Wait
			if w := waitsIn(topology, build.Ref(c.in), peeked, Sight{}); w != nil {
				wait = &w.Messages[0]
			}

			var got []string
			for _, e := range Ahead(topology, &c.m, build.Ref(c.in), wait, build.Noon) {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s | %s | %s", e.Kind,
					strings.TrimSpace(e.What+e.Where+" "+e.Detail), e.Note)))
			}

			assert.Equal(t, strings.Join(got, "\n"), c.want)
		})
	}
}

// circle is a worker and its retry buffer.
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

// limited is a flow whose worker gives up at its delivery limit, 20 by default.
func limited(settings ...build.Setting) []build.Part {
	worker := []build.Setting{build.OfType(model.Quorum), build.DLX("", "w.retry"), build.Consumers(1)}
	return []build.Part{
		build.Queue("w", append(worker, settings...)...),
		build.Buffer("w.retry", "w", 30_000),
	}
}

// limitDeaths are the deaths of a message that returned from the buffer after each of them.
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
