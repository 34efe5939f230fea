package demo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// The nodes of a cluster know one another, and one that was halted comes back into it.
func TestCluster(t *testing.T) {
	size.Long(t)
	n := size.Of(2, 3)
	began := time.Now()
	nodes := must.Get(StartCluster(t.Context(), n, Options{}))(t)
	t.Logf("up after %s", time.Since(began).Round(100*time.Millisecond))
	t.Cleanup(func() {
		assert.Succeeds(t, StopCluster(nodes))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	running := func(n int) {
		t.Helper()
		want := fmt.Sprint(n)
		must.Do(t, until(ctx, 100*time.Millisecond, func(ctx context.Context) error {
			got, err := nodes[0].Control(ctx, "eval", "length(rabbit_nodes:all_running()).")
			if err == nil && got != want {
				err = fmt.Errorf("%s nodes run, want %s", got, want)
			}
			return err
		}))
	}
	running(n)
	must.Do(t, nodes[n-1].Halt())
	running(n - 1)
	must.Do(t, nodes[n-1].Resume(ctx))
	running(n)
}
