package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"dlxtop/model"
)

// A delay of four levels, an exchange that delays, a worker that retries by itself, and a failed queue of nobody.
func TestFlowsThatAreNotOneQueueEach(t *testing.T) {
	queue := func(name string, kind model.QueueType, consumers, ready int64, arguments model.Table) model.Queue {
		return model.Queue{
			QueueRef: model.QueueRef{VHost: "/", Name: name}, Type: kind, Arguments: arguments, PolicyDefinition: model.Table{},
			Consumers: model.Some(consumers), Ready: model.Some(ready), Delayed: model.Some[int64](2),
		}
	}
	wait := func(ms int64, next string) model.Table {
		return model.Table{"x-message-ttl": ms, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": next}
	}
	topology := model.NewTopology(&model.Snapshot{
		Overview: model.Overview{Version: model.ParseVersion("4.3.6")},
		Queues: []model.Queue{
			queue("w", model.Quorum, 1, 0, model.Table{"x-delayed-retry-type": "all"}),
			queue("other", model.Classic, 1, 0, nil), queue("error", model.Classic, 0, 7, nil),
			queue("a", model.Classic, 0, 1, wait(8000, "b")), queue("b", model.Classic, 0, 2, wait(4000, "c")),
			queue("c", model.Classic, 0, 3, wait(2000, "d")), queue("d", model.Classic, 0, 4, wait(1000, "w")),
		},
		Exchanges: []model.Exchange{
			{ExchangeRef: model.ExchangeRef{VHost: "/"}, Type: "direct"},
			{
				ExchangeRef: model.ExchangeRef{VHost: "/", Name: "later"}, Type: "x-delayed-message",
				Arguments: model.Table{"x-delayed-type": "fanout"}, Delayed: model.Some[int64](5),
			},
		},
		Bindings: []model.Binding{{VHost: "/", Source: "later", Destination: "other"}},
	})
	raw, err := json.Marshal(flowsOf(topology))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"queue":"d","role":"delayed","ready":10,"ttl_ms":1000`, `"levels":["d","c","b","a"],"ttl_max_ms":15000`,
		`"queue":"","role":"delayed","ready":5,"ttl_source":"message","dlx":"later","targets":["other"]`,
		`"exchange":"later"`,
		`"worker":{"queue":"w","ready":0,"consumers":1,"delayed_retry":"all","delayed":2}`,
		`"failed_without_flow":[{"vhost":"/","queue":"error","ready":7,"reason":"`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	var table strings.Builder
	if err := flowsTable(topology).write(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"d … a", "1s…15s (argument)", "delayed retry of all (argument)", "per message",
		"error",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
}
