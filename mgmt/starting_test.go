package mgmt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// A list of queues with a stream that is just being declared is 500 for as long as that takes (3.10.8: it has no
// process yet). Here its coordinator stands still for 600 ms, as on a busy node.
func TestListWhileAStreamStarts(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("starting")
	connection := must.Get(dial.AMQP(b.AMQP() + vhost))(t)
	defer connection.Close()
	declare := func(name string) error {
		channel, err := connection.Channel()
		if err == nil {
			_, err = channel.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "stream"})
		}
		return err
	}
	if err := declare("first"); err != nil { // starts the coordinator
		t.Fatal(err)
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	here := filepath.Join(dir, "here")
	ended := make(chan error, 2)
	go func() {
		_, err := b.Control(t.Context(), "eval", fmt.Sprintf(`
			Process = whereis(rabbit_stream_coordinator),
			erlang:suspend_process(Process), ok = file:write_file(%q, ""),
			timer:sleep(600), erlang:resume_process(Process).`, here))
		ended <- err
	}()
	awaitFile(t, here)
	go func() { ended <- declare("second") }()
	c := client(t, Options{URL: b.API(), VHost: vhost})
	for began := time.Now(); time.Since(began) < time.Second; {
		if _, _, err := c.queues(t.Context(), false); err != nil {
			t.Errorf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
		}
	}
	for range 2 {
		assert.Succeeds(t, <-ended)
	}
}

// awaitFile waits until a node has written a file.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		must.That(t, !time.Now().After(deadline), "the node did nothing for a minute")
	}
}
