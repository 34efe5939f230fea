package cli_test

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
)

// TestReplayLater: through a buffer of the flow, messages come to the worker when they expire there.
func TestReplayLater(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"})
	v.declare("orders.retry", amqp.Table{
		"x-message-ttl": 300, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders",
	})
	v.declare("orders.failed", nil)
	v.fill("orders.failed", 3)
	args := []string{"replay", "orders.failed", "--to", "queue:orders.retry", "--over", "1s"}
	dry := v.run(append(args, "--dry-run", "-o", "table")...)
	for _, words := range []string{
		"pace: at most 3/s: 3 messages take 1s or more", "orders gets them after 300ms in the buffer",
	} {
		assert.That(t, strings.Contains(dry.stderr, words), "%q is not in %s", words, dry.stderr)
	}
	r := v.run(append(args, "--yes")...)
	if a := decode[accountContract](t, r); r.status != cli.ExitDone || a.counts() != "3 3 0 0 0 0" {
		t.Fatalf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
	await(t, "the worker has them", func() bool { return v.count("orders") == 3 })
	for _, d := range v.take("orders") {
		death, ok := d.Headers["x-first-death-queue"]
		assert.That(t, ok && death == "orders.retry", "%s died in %v", d.MessageId, death)
	}
}
