package overview

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A delay of four levels, an exchange that delays, a worker that retries by itself, and a failed queue without a flow.
func TestFlowsThatAreNotOneQueueEach(t *testing.T) {
	topology := build.TopologyOf("4.3.6",
		build.Queue("w", build.OfType(model.Quorum), build.Consumers(1), build.Argument("x-delayed-retry-type", "all"),
			build.Argument("x-delayed-retry-min", 30000), build.Argument("x-delayed-retry-max", 300000),
			func(q *model.Queue) {
				q.Delayed = build.Some(2)
				q.NextRetry = model.Some(build.Noon.Add(12 * time.Second))
				q.LastRetry = model.Some(build.Noon.Add(4 * time.Minute))
			}),
		build.Text(`
			queue other consumers=1
			queue error ready=7
			buffer kept.failed archive 1209600000 ready=1
			queue kept dlx= key=kept.failed
			queue archive consumers=0
			buffer a b 8000 ready=1
			buffer b c 4000 ready=2
			buffer c d 2000 ready=3
			buffer d w 1000 ready=4
			exchange x-delayed-message later x-delayed-type=fanout
			bind later other

			exchange headers split
			bind-headers split other service=mail
			bind-headers split archive service=sms
			queue wait ttl=60000 dlx=split ready=2
		`),
		func(s *model.Snapshot) {
			s.Exchanges[1].Delayed, s.TakenAt = build.Some(5), build.Noon
			s.Queues[2].Unacked = build.Some(20)
		})

	raw := must.Get(json.Marshal(Flows(topology)))(t)
	for _, want := range []string{
		`"queue":"d","role":"delayed","ready":10,"ttl_ms":1000`, `"levels":["d","c","b","a"],"ttl_max_ms":15000`,
		`"queue":"","role":"delayed","ready":5,"ttl_source":"message","dlx":"later","targets":["other"]`,
		`"exchange":"later"`,
		`"worker":{"queue":"w","ready":0,"consumers":1,"delayed_retry":"all","delayed_retry_source":"argument",` +
			`"delayed_retry_min_ms":30000,"delayed_retry_min_source":"argument",` +
			`"delayed_retry_max_ms":300000,"delayed_retry_max_source":"argument","delayed":2,` +
			`"next_delayed_at":"2024-05-01T12:00:12.000Z","last_delayed_at":"2024-05-01T12:04:00.000Z"}`,
		`{"queue":"kept.failed","ready":1,"ttl_ms":1209600000,"ttl_source":"argument","targets":["archive"],"reason":"` +
			`messages rejected by kept stay here until they expire, after 14d (argument), then go to archive`,
		`"failed_without_flow":[{"vhost":"/","queue":"error","ready":7,"reason":"`,
	} {
		assert.Contains(t, string(raw), want)
	}

	var table strings.Builder
	must.Do(t, Table(topology).Write(&table))
	for _, want := range []string{
		"d … a", "1s…15s (argument)", "per message", "error",
		"14d (argument)", "archive through (default)", " 7 +20 unacked ",
		"archive, other through split: each message's own headers decide",
		"1st 30s (argument), then 1m, at most 5m (argument)", "itself: 2 held back, next in 12s, last in 4m",
	} {
		assert.Contains(t, table.String(), want)
	}
}

// Endless requeues by a worker are visible in both formats, and need no column when there are none.
func TestFlowsWithRedeliveries(t *testing.T) {
	looping := func(rate model.Opt[float64]) *model.Topology {
		return build.TopologyOf("4.0.5", build.Exchange("fanout", "dead"),
			build.Queue("mail", build.Consumers(1), build.DLX("dead"), func(q *model.Queue) { q.RedeliverRate = rate }),
			build.Text(`
				queue mail.dlq
				bind dead mail.dlq
			`))
	}

	for _, test := range []struct {
		name     string
		rate     model.Opt[float64]
		rows     []string // of the table, without its padding
		inJSON   string   // for the worker
		mentions bool     // the JSON has the field
	}{
		{
			"a loop", model.Some(24.04),
			[]string{
				"FLOW ROLE QUEUE READY CONSUMERS REDELIVERED AFTER LEADS TO", "mail worker mail 0 1 24.0/s",
				"failed mail.dlq 0 0",
			},
			`"consumers":1,"redelivered_per_second":24.04`, true,
		},

		{
			"an end of it", model.Some(0.0),
			[]string{"FLOW ROLE QUEUE READY CONSUMERS AFTER LEADS TO", "mail worker mail 0 1", "failed mail.dlq 0 0"},
			`"consumers":1,"redelivered_per_second":0}`, true,
		},
		{
			"never", model.Unknown[float64](),
			[]string{"FLOW ROLE QUEUE READY CONSUMERS AFTER LEADS TO", "mail worker mail 0 1", "failed mail.dlq 0 0"},
			`"consumers":1}`, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var table strings.Builder
			must.Do(t, Table(looping(test.rate)).Write(&table))

			var rows []string
			for line := range strings.Lines(table.String()) {
				rows = append(rows, strings.Join(strings.Fields(line), " "))
			}

			assert.Same(t, test.rows, rows)
			raw := must.Get(json.Marshal(Flows(looping(test.rate))))(t)
			text := string(raw)
			assert.Contains(t, text, test.inJSON)
			assert.Equal(t, strings.Contains(text, "redelivered_per_second"), test.mentions, "no %s in %s", test.inJSON, text)
		})
	}
}
