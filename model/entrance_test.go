package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Where publishers come in, and whether failures are told apart from what they send.
func TestEntrances(t *testing.T) {
	for _, test := range []struct {
		name   string
		parts  []build.Part
		direct []string // exchange and key
		fed    bool
		reject bool // the first buffer gets what the worker rejects
	}{
		{
			"rejects come back to the exchange that publishers use", build.EntryRetryParts,
			[]string{"billing invoice.#"},
			false, true,
		},
		{
			"rejects come back by another exchange", with(build.EntryRetryParts,
				build.Exchange("direct", "orders"), build.Bind("orders", "new", "invoice")),
			[]string{"orders new"},
			false, true,
		},
		{
			"rejects come back by the default exchange, which has no bindings",
			build.ScenarioParts["a worker that dead-letters into its retry buffer, policies only"],
			nil, false, true,
		},
		{
			"the worker sends failures to the buffer that publishers use, too",
			[]build.Part{
				build.Exchange("direct", "out"), build.Exchange("direct", "back"),
				build.Queue("w.retry", build.DLX("back"), build.DeadKey("w"), build.TTL(1000)),
				build.Bind("out", "w", "w.retry"),
				build.Queue("w", build.Consumers(1)), build.Bind("back", "w", "w"),
			},
			nil, true, false,
		},
		{
			"publishers fill a delayed buffer", build.ScenarioParts["delayed"], nil, false, false,
		},
		{
			"they use the exchange itself, the retries a key of their own", build.ScenarioParts["pubsub"],
			[]string{"master user.*"},
			false, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			flow := &topology.Flows()[0]
			var direct []string
			for _, b := range topology.DirectBindings(flow) {
				direct = append(direct, b.Source+" "+b.RoutingKey)
			}
			assert.NoDiff(t, cmp.Diff(test.direct, direct))
			assert.Equal(t, topology.FedThroughRetries(flow), test.fed, "fed through retry buffers")
			if got := flow.Buffers[0].Rejected; got != test.reject {
				t.Errorf("%s gets rejected messages is %v: %s", flow.Buffers[0].Name(), got, flow.Buffers[0].Reason)
			}
			assert.That(t, !test.reject || flow.Buffers[0].Role == model.RetryBuffer, "it is a %s buffer", flow.Buffers[0].Role)
		})
	}
}
