package plan_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestArrivalsAreWhatTheQueueHasMore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		depth model.Opt[int64]
		ready int64
		done  plan.Account
		want  int64
		known bool
	}{
		{"nothing happened", model.Some[int64](47), 47, plan.Account{}, 0, true},
		{"3 came before it ran", model.Some[int64](47), 50, plan.Account{}, 3, true},
		{"3 came, and 40 went", model.Some[int64](47), 10, plan.Account{Moved: 30, Dropped: 8, Gone: 2}, 3, true},
		{"what stays is no arrival", model.Some[int64](47), 10, plan.Account{Moved: 37, Refused: 5, Returned: 5}, 0, true},
		{"others took some", model.Some[int64](47), 2, plan.Account{Moved: 40}, 0, true},
		{"the depth is unknown", model.Unknown[int64](), 50, plan.Account{}, 0, true},
		{"some may be there twice", model.Some[int64](47), 10, plan.Account{Moved: 37, Unknown: 3}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, known := test.done.Out().Get()
			must.Equal(t, known, test.known, "what went is known")
			got := (plan.Frozen{Depth: test.depth}).Arrived(test.ready, out)
			assert.That(t, !known || got == test.want, "%d arrived", got)
		})
	}
}
