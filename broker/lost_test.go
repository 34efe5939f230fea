package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
)

// lostIsTold: a connection that is lost is told at once, also one that was made again by itself; one that is closed is
// none.
func lostIsTold(t *testing.T, n *demo.Node) {
	c := clientOf(t, n)
	if err := c.Check(t.Context(), "/"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	told := make(chan error, 1)
	wait := func() { told <- c.Lost(ctx) }
	go wait()
	if err := n.Halt(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-told:
		if err == nil {
			t.Error("nothing was lost")
		}
		t.Log(err)
	case <-time.After(patience):
		t.Error("the connection is gone since the broker was stopped, and that was not told")
	}
	if err := n.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	go wait()
	if err := c.Check(ctx, "/"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// The client knows of the end of its connection before the broker forgets it.
	(&app{TB: t}).until(func() error { return allGone(t, n, "guest") })
	cancel()
	if err := <-told; err != nil {
		t.Errorf("a connection that was closed is told as lost: %v", err)
	}
}
