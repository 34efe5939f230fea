package picture

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// What a person parked is in the picture, and apart from what failed.
func TestParkedQueuesAreApart(t *testing.T) {
	flow := model.Flow{Parked: []model.Member{{Queue: build.Ref("parked")}}}
	p := Of(&flow, Moment{Topology: build.TopologyOf("4.0.5")})
	assert.Equal(t, p.failed.heading, "0 failed queues, 1 parked", "heading")
}
