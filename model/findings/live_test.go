package findings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestLosingNow(t *testing.T) {
	moving := func(in, dead float64) model.Movement {
		return model.Movement{In: model.Some(in), Dead: model.Some(dead)}
	}
	flow := []build.Part{
		build.Queue("w", build.Consumers(1)),
		build.Queue("b", build.DLX(""), build.DeadKey("w"), build.TTL(1000)),
	}
	tests := []struct {
		name  string
		parts []build.Part
		moves model.Moves
		over  time.Duration
		want  []string
	}{
		{
			"what leaves arrives", flow,
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(2, 0)},
			12 * time.Second, nil,
		},
		{
			"what leaves arrives nowhere", flow,
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)},
			12 * time.Second,
			[]string{"error losing-now b"},
		},
		{
			"too short a time to tell", flow,
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)},
			4 * time.Second, nil,
		},
		{
			"too few to tell", flow,
			model.Moves{build.Ref("b"): moving(0.1, 0.1), build.Ref("w"): moving(0, 0)},
			12 * time.Second, nil,
		},
		{"nothing is known of the target", flow, model.Moves{build.Ref("b"): moving(2, 2)}, 12 * time.Second, nil},
		{
			"a consumer took them", flow,
			model.Moves{build.Ref("b"): moving(2, 0), build.Ref("w"): moving(0, 0)},
			12 * time.Second, nil,
		},
		{
			"a missing exchange",
			[]build.Part{build.Queue("b", build.DLX("nope"), build.TTL(1000))},
			model.Moves{build.Ref("b"): moving(2, 2)},
			12 * time.Second,
			[]string{"error losing-now b"},
		},
		{
			"from buffer to buffer, where what arrives hides what leaves",
			[]build.Part{
				build.Queue("b", build.DLX(""), build.DeadKey("b2"), build.TTL(1000)),
				build.Queue("b2", build.DLX(""), build.DeadKey("w"), build.TTL(1000)), build.Queue("w", build.Consumers(1)),
			},
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("b2"): moving(0, 0), build.Ref("w"): moving(2, 0)},
			12 * time.Second, nil,
		},
		{
			"into a queue that is full, and drops as many as arrive",
			[]build.Part{
				build.Queue("b", build.DLX(""), build.DeadKey("w"), build.TTL(1000)),
				build.Queue("w", build.Argument("x-max-length", int64(10)), build.Ready(10)),
			},
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)},
			12 * time.Second, nil,
		},
		{
			"into a queue that is full, and refuses",
			[]build.Part{
				build.Queue("b", build.DLX(""), build.DeadKey("w"), build.TTL(1000)),
				build.Queue("w", build.Argument("x-max-length", int64(10)), build.Ready(10),
					build.Argument("x-overflow", "reject-publish")),
			},
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)},
			12 * time.Second,
			[]string{"error losing-now b"},
		},
		{
			"the worker rejects all that arrives into its failed queue",
			[]build.Part{
				build.Queue("b", build.DLX(""), build.DeadKey("w"), build.TTL(1000)),
				build.Queue("w", build.Consumers(1), build.DLX(""), build.DeadKey("w.failed")), build.Queue("w.failed"),
			},
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0), build.Ref("w.failed"): moving(2, 0)},
			12 * time.Second, nil,
		},
		{
			"at least once keeps them",
			[]build.Part{
				build.Queue("b", build.OfType(model.Quorum), build.DLX("nope"), build.TTL(1000),
					build.Argument("x-dead-letter-strategy", "at-least-once"), build.Argument("x-overflow", "reject-publish")),
			},
			model.Moves{build.Ref("b"): moving(2, 2)},
			12 * time.Second, nil,
		},
		{
			"no rates", append([]build.Part{func(s *model.Snapshot) { s.Overview.RatesMode = "none" }}, flow...),
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)},
			12 * time.Second, nil,
		},
		{
			"statistics are off", append([]build.Part{func(s *model.Snapshot) { s.Overview.StatsOff = true }}, flow...),
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)},
			12 * time.Second, nil,
		},
		{
			"no dead-letter exchange, so nothing should arrive",
			[]build.Part{build.Queue("b", build.TTL(1000))},
			model.Moves{build.Ref("b"): moving(2, 2)},
			12 * time.Second, nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.NoDiff(t, cmp.Diff(test.want,
				codes(LosingNow(build.TopologyOf("3.10.8", test.parts...), test.moves, test.over))))
		})
	}
}
