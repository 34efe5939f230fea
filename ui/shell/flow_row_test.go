package shell

import (
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// TestWorstFlowsFirst: what is in trouble, then where most failed, then by name.
func TestWorstFlowsFirst(t *testing.T) {
	row := func(name string, rank int, failed int64) FlowRow {
		return FlowRow{Name: name, rank: rank, Failed: model.Some(failed)}
	}
	rows := []FlowRow{row("well", 2, 0), row("b", 1, 4), row("a", 1, 4), row("loud", 1, 20_000), row("no consumer", 0, 0)}
	slices.SortFunc(rows, Worst)
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	assert.List(t, names, []string{"no consumer", "loud", "a", "b", "well"}, "the flows")
}
