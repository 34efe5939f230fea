package ui

import (
	"testing"
	"time"

	"dlxtop/model"
)

// A broker that counts every 5 s and is polled every 2 s seems to move nothing, nothing, then everything at once.
func TestRatesAreSteadyThoughTheBrokerCountsInSteps(t *testing.T) {
	var r recent
	for i, went := range []int64{0, 50, 0, 50, 0, 0, 50, 0, 50, 0} {
		moves := model.Moves{ref("q"): {Came: model.Some[int64](0), Went: model.Some(went)}}
		r = r.after(moves, 2*time.Second)
		rate, ok := r.steady()[ref("q")].Out.Get()
		if !ok {
			t.Fatalf("poll %d: the rate is not known", i)
		}
		if i >= 5 && (rate < 7 || rate > 13) {
			t.Errorf("poll %d: %.1f/s left, want about 10", i, rate)
		}
	}
	if got := r.steady()[ref("q")].Went.Or(-1); got != 0 {
		t.Errorf("%d left since the last poll, want 0", got)
	}
	if len(r) > 7 {
		t.Errorf("%d polls are remembered for %v", len(r), steadySpan)
	}
}

func TestRatesOfNothingAreUnknown(t *testing.T) {
	var r recent
	if r.after(nil, time.Second).steady() != nil {
		t.Error("the first poll has movements")
	}
	r = r.after(model.Moves{ref("new"): {Depth: 3}}, time.Second)
	if r.steady()[ref("new")].Out.Known() {
		t.Error("a rate is known though the count is not")
	}
}

// The bound on what is due next shrinks while nothing leaves, and starts anew when something may have left.
func TestHeadArrived(t *testing.T) {
	h := newHistory()
	start := newClock().now()
	flows := []model.Flow{{Worker: model.Member{Queue: ref("q")}}}
	at := func(second int, ready, went int64) {
		topology := model.NewTopology(recording(queue("q", func(q *model.Queue) { q.Ready = model.Some(ready) })))
		h.record(start.Add(time.Duration(second)*time.Second), topology, flows, model.Moves{ref("q"): {Went: model.Some(went)}})
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
		if _, since := h.headArrived(now, ref("q")); now.Sub(since) != step.want {
			got := now.Sub(since)
			t.Errorf("after %d s: %v, want %v", step.second, got, step.want)
		}
	}
}
