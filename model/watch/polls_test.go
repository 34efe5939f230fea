package watch

import (
	"testing"
	"time"

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
		if !ok {
			t.Fatalf("poll %d: the rate is not known", i)
		}
		if i >= 5 && (rate < 7 || rate > 13) {
			t.Errorf("poll %d: %.1f/s left, want about 10", i, rate)
		}
	}
	if got := r.Moves()[build.Ref("q")].Went.Or(-1); got != 0 {
		t.Errorf("%d left since the last poll, want 0", got)
	}
	if len(r) > 7 {
		t.Errorf("%d polls are remembered for %v", len(r), steadySpan)
	}
}

func TestRatesOfNothingAreUnknown(t *testing.T) {
	var r Polls
	if r.After(nil, time.Second).Moves() != nil {
		t.Error("the first poll has movements")
	}
	r = r.After(model.Moves{build.Ref("new"): {Depth: 3}}, time.Second)
	if r.Moves()[build.Ref("new")].Out.Known() {
		t.Error("a rate is known though the count is not")
	}
}
