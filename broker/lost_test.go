package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// lostIsTold: a connection that is lost is told at once, also one that was made again by itself; one that is closed is
// none.
func lostIsTold(t *testing.T, n *demo.Node) {
	c := clientOf(t, n)
	must.Do(t, c.Check(t.Context(), "/"))
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	told := make(chan error, 1)
	wait := func() { told <- c.Lost(ctx) }
	go wait()
	must.Do(t, n.Halt())
	select {
	case err := <-told:
		assert.That(t, err != nil, "nothing was lost")
		t.Log(err)
	case <-time.After(patience):
		t.Error("the connection is gone since the broker was stopped, and that was not told")
	}
	must.Do(t, n.Resume(ctx))
	go wait()
	must.Do(t, c.Check(ctx, "/"))
	must.Do(t, c.Close())
	// The client knows of the end of its connection before the broker forgets it.
	(&app{TB: t}).until(func() error { return allGone(t, n, "guest") })
	cancel()
	if err := <-told; err != nil {
		t.Errorf("a connection that was closed is told as lost: %v", err)
	}
}
