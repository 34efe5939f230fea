package watch

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A broker that counts every 5 s and is polled every 2 s seems to move nothing, nothing, then everything at once.
func TestRatesAreSteadyThoughTheBrokerCountsInSteps(t *testing.T) {
	var r Polls
	for i, went := range []int64{0, 50, 0, 50, 0, 0, 50, 0, 50, 0} {
		moves := model.Moves{build.Ref("q"): {Came: model.Some[int64](0), Went: model.Some(went)}}
		r = r.After(moves, 2*time.Second)
		rate, ok := r.Moves()[build.Ref("q")].Out.Get()
		must.That(t, ok, "poll %d: the rate is not known", i)
		assert.That(t, i < 5 || rate >= 7 && rate <= 13, "poll %d: %.1f/s left, want about 10", i, rate)
	}
	assert.Equal(t, r.Moves()[build.Ref("q")].Went.Or(-1), 0, "left since the last poll")
	assert.That(t, len(r) <= 7, "%d polls are remembered for %v", len(r), steadySpan)
}

func TestRatesOfNothingAreUnknown(t *testing.T) {
	var r Polls
	assert.That(t, r.After(nil, time.Second).Moves() == nil, "the first poll has movements")
	r = r.After(model.Moves{build.Ref("new"): {Depth: 3}}, time.Second)
	assert.That(t, !r.Moves()[build.Ref("new")].Out.Known(), "a rate is known though the count is not")
}
