package cli_test

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Messages that are published once more after their replay, with the same ids, failed again; in another queue they are
// copies.
func TestReplayOfWhatWasPublishedAgain(t *testing.T) {
	v := newVHost(t, "failed", "other", "worker")
	replay := []string{"replay", "failed", "--to", "queue:worker", "--yes"}
	v.fill("failed", 3)
	v.run(replay...).ends(t, cli.ExitDone).account(t, "3 3 0 0 0 0")
	v.fill("failed", 3)
	v.run(replay...).ends(t, cli.ExitDone, "3 were replayed before, on ").account(t, "3 3 0 0 0 0")
	v.fill("other", 3)
	v.run("replay other --to queue:worker --yes").ends(t, cli.ExitRefused, "a copy from")
	v.holds("worker", 6)
}

// A replay by name changes the key, and says so. The worker that fails again sees that key, and so does x-death; the
// next replay goes by the message's own key all the same.
func TestReplayGoesAroundTheOwnAddress(t *testing.T) {
	v := newVHost(t)
	v.exchange("shop", "topic")
	v.declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"})
	v.declare("audit", nil)
	v.declare("orders.failed", nil)
	v.bind("orders", "order.*", "shop")
	v.bind("audit", "#", "shop")
	keys := make(chan string, 3)
	v.consume("orders", func(d amqp.Delivery) {
		keys <- d.RoutingKey
		_ = d.Reject(false)
	})

	v.publish("shop", "order.created", amqp.Publishing{MessageId: "m", DeliveryMode: amqp.Persistent})

	v.holds("orders.failed", 1)
	assert.Equal(t, <-keys, "order.created")
	v.run("replay orders.failed --yes").ends(t, cli.ExitDone, "key order.created -> orders: the worker sees another")
	assert.Equal(t, <-keys, "orders")
	v.holds("orders.failed", 1)
	must.Do(t, v.channel.QueueUnbind("audit", "#", "shop", nil))
	r := v.run("replay orders.failed --yes").ends(t, cli.ExitDone)
	assert.Lacks(t, r.stderr, "-> order")
	assert.Equal(t, <-keys, "order.created")
	v.holds("orders.failed", 1)
}

// A full target that dead-letters what it refuses: each action is refused before, and with --insist its copies are in
// the account, the journal and the undo.
func TestFullTargetThatLeavesCopies(t *testing.T) {
	v := newVHost(t, "failed", "dead")
	v.declare("full", amqp.Table{
		"x-max-length": 2, "x-overflow": "reject-publish-dlx", "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "dead",
	})

	v.fill("full", 2)
	v.fill("failed", 3)
	file := t.TempDir() + "/messages"
	v.run("export failed", file).ends(t, cli.ExitDone)
	v.run("drop full --limit 1 --yes").ends(t, cli.ExitDone)
	dropped := v.records(1)[0].ID
	v.fill("full", 1)

	const refusal = "takes a copy of each refused one to dead"
	for _, action := range [][]string{
		{"replay", "failed", "--to", "queue:full"},
		{"move", "failed", "--to", "queue:full"},
		{"replay", "failed", "--to", "queue:full", "--edit", `.body = "x"`},
		{"import", file, "--to", "queue:full"},
		{"journal", "undo", fmt.Sprint(dropped)},
	} {
		v.run(append(action, "--yes")...).ends(t, cli.ExitRefused, refusal, "holds 2: it refuses")
	}

	v.holds("failed", 3).holds("full", 2).holds("dead", 0)
	r := v.run("replay failed --to queue:full --yes --insist").ends(t, cli.ExitRefused,
		"3 messages refused by", "left a copy in dead")
	account := r.account(t, "3 0 0 3 0 0")
	must.Equal(t, len(account.Copies), 1, "%+v", account.Copies)
	assert.Equal(t, account.Copies[0].Queue, "full")
	assert.Equal(t, account.Copies[0].Messages, 3)
	assert.Equal(t, strings.Join(account.Copies[0].In, " "), "dead")
	assert.That(t, !account.Copies[0].AtMost, "%+v", account.Copies)
	v.holds("dead", 3)
	v.holds("failed", 3)
	v.run("journal -o table").shows(t, "3 copies left in")
	v.run("journal undo", fmt.Sprint(account.JournalID), "--yes").ends(t, cli.ExitRefused, "nothing to undo",
		"left a copy in dead")
}
