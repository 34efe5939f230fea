package cli_test

import (
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestSmallSample: with --yes a replay to one queue reads the first 100 messages before, and a dry run 1,000. Both act
// on all of them.
func TestSmallSample(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", nil)
	const n = 150
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i].MessageId = fmt.Sprint(i + 1)
	}
	for _, i := range []int{0, 120} {
		messages[i].Headers = amqp.Table{"CC": []any{"elsewhere"}}
	}
	v.send("failed", messages)
	replay := func(flag string) string {
		t.Helper()
		r := v.run("replay", "failed", "--to", "queue:worker", flag)
		must.That(t, r.status == cli.ExitDone, "%s: %+v", flag, r)
		return r.stderr
	}
	assert.Contains(t, replay("--dry-run"), "2 messages were copied to further queues by CC", "the dry run")
	assert.Contains(t, replay("--yes"), "1 message was copied to further queues by CC", "the replay")
	assert.Equal(t, v.count("worker"), n, "messages arrived")
}
