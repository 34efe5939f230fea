package e2e

import (
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// tunnel is a proxy for connections to the node. Once frozen it forwards nothing more, and the broker does not notice
// that its client is gone, as when a network is cut.
type tunnel struct {
	address string
	limit   atomic.Int64 // bytes to the node, after which it freezes; 0: never
	carried atomic.Int64
	frozen  chan struct{} // closed when it freezes
	freeze  sync.Once
	sync.Mutex
	far []net.Conn
}

func newTunnel(t *testing.T) *tunnel {
	t.Helper()
	u := must.Get(url.Parse(built.Node.AMQP()))(t)
	c := &tunnel{frozen: make(chan struct{})}
	host := u.Host
	t.Cleanup(func() { closeAll(c.take()) })

	u.Host = dial.Serve(t, dial.Listen(t), func(near net.Conn) {
		far, err := net.Dial("tcp", host)
		if err != nil {
			near.Close()
			return
		}

		c.Lock()
		c.far = append(c.far, far)
		c.Unlock()
		go func() { _, _ = io.Copy(near, far); near.Close() }()
		go c.carry(far, near)
	})

	c.address = u.String()
	return c
}

// carry forwards what the client sends, until it ends or the tunnel freezes.
func (c *tunnel) carry(far, near net.Conn) {
	buffer := make([]byte, 4096)
	for {
		n, err := near.Read(buffer)
		all := c.carried.Add(int64(n))
		limit := c.limit.Load()
		if limit > 0 && all > limit {
			c.freeze.Do(func() { close(c.frozen) })
			return
		}

		if _, e := far.Write(buffer[:n]); err != nil || e != nil {
			far.Close()
			return
		}
	}
}

// take takes over the connections to the node so far: closing them lets the broker notice that their clients are gone.
func (c *tunnel) take() (taken []net.Conn) {
	c.Lock()
	defer c.Unlock()
	taken, c.far = c.far, nil
	return taken
}

func closeAll(connections []net.Conn) {
	for _, c := range connections {
		c.Close()
	}
}

// An undo waits until the broker has noticed that the program that acted is gone: only then does the queue have the
// messages that it held, and an earlier undo would bring these back a second time.
func TestUndoWaitsForWhatADeadProgramHolds(t *testing.T) {
	const n = 5000
	channel, failed, worker := numbered(t, "dead", n)
	tunnel, home := newTunnel(t), t.TempDir()
	dlxtop := func(args ...string) *exec.Cmd {
		return built.In(home, append(args, "--url", tunnel.address+"%2f", "--api", built.Node.API())...)
	}
	tunnel.limit.Store(200_000) // somewhere in the middle
	replay := dlxtop("replay", failed, "--to", "queue:"+worker, "--yes")
	must.Do(t, replay.Start())

	select {
	case <-tunnel.frozen: // it has published, and waits for confirms
	case <-time.After(built.Patience):
		t.Error("nothing is replayed")
	}

	_ = replay.Process.Kill()
	_ = replay.Wait()
	dead := tunnel.take()
	defer closeAll(dead)
	tunnel.limit.Store(0)
	must.That(t, depth.Of(t, channel, failed) != n, "nothing is held")

	undo := dlxtop("journal", "undo", "1", "--yes")
	var said strings.Builder
	undo.Stdout, undo.Stderr = &said, &said
	must.Do(t, undo.Start())
	ended := make(chan error, 1)
	go func() { ended <- undo.Wait() }()

	select {
	case <-ended:
		t.Fatalf("it did not wait, while messages were held\n%s", said.String())
	case <-time.After(3 * time.Second): // more than enough to bring them back
	}

	closeAll(dead)
	select {
	case <-ended:
	case <-time.After(built.Patience):
		t.Fatalf("it waits for ever\n%s", said.String())
	}

	ready := depth.Of(t, channel, failed)
	assert.That(t, ready == n, "%d are there, want %d\n%s", ready, n, said.String())
	assert.Contains(t, said.String(), "looked at all of "+failed+": order kept", "it does not say what its look costs")
	found := drained(t, channel, failed)
	assert.That(t, len(found) == n, "%d different ones are there\n%s", len(found), said.String())
}
