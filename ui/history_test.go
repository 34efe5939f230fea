package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// The bound on what is due next shrinks while nothing leaves, and starts again when something may have left.
func TestHeadArrived(t *testing.T) {
	h := shell.NewHistory()
	start := newClock().now()
	flows := []model.Flow{{Worker: model.Member{Queue: ref("q")}}}
	at := func(second int, ready, went int64) {
		topology := model.NewTopology(recording(queue("q", func(q *model.Queue) { q.Ready = model.Some(ready) })))
		h.Record(start.Add(time.Duration(second)*time.Second), topology, flows,
			model.Moves{ref("q"): {Went: model.Some(went)}})
	}
	for _, step := range []struct {
		second      int
		ready, went int64
		want        time.Duration
	}{
		{0, 3, 0, 0},
		{2, 3, 0, 2 * time.Second},
		{4, 5, 0, 4 * time.Second},
		{6, 4, 1, 0},
		{8, 4, 0, 2 * time.Second},
		{10, 0, 4, 0},
		{12, 1, 0, 0},
		{14, 1, 0, 2 * time.Second},
	} {
		at(step.second, step.ready, step.went)
		now := start.Add(time.Duration(step.second) * time.Second)
		assert.Equal(t, now.Sub(h.HeadArrived(now, ref("q")).Since), step.want, "after %d s", step.second)
	}
}
