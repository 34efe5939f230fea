package peek

import (
	"reflect"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// TestPlanIsData: a look survives JSON, also one that is refused, whatever speaks against it.
func TestPlanIsData(t *testing.T) {
	for _, part := range build.NotData(reflect.TypeFor[Plan]()) {
		t.Error(part)
	}
	limit := model.Setting[int64]{Value: 20, Set: true, Source: model.Source{Kind: model.FromPolicy, Name: "p"}}
	plans := []Plan{
		For(build.TopologyOf("4.0.5", build.Queue("q", build.OfType(model.Quorum), build.Ready(3))), build.Ref("q"), Want{}),
		For(build.TopologyOf("4.0.5"), build.Ref("q"), Want{}),
		{Refusal: (&LimitReached{Queue: build.Ref("q"), Limit: 20, Left: 1}).Refusal()},
		{Refusal: (&RescueImpossible{Why: "the disk is full", Final: true}).Refusal()},
		{Refusal: Refusal{
			{Kind: QueueDown, Down: model.Down{Outage: model.NoMajority, Online: 1, Members: 3, Offline: []string{"a", "b"}}},
			{Kind: LimitNear, Left: 2, Limit: limit},
			{Kind: DelayedRetry, Retry: "all"},
			{Kind: UnknownType, Type: "odd"},
		}},
	}
	for _, p := range plans {
		read, err := build.ThroughJSON(p)
		assert.That(t, err == nil && reflect.DeepEqual(p, read), "%v\n%+v\n%+v", err, p, read)
	}
}
