package cli_test

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// consume plays a worker until the test ends.
func (v *vhost) consume(queue string, handle func(amqp.Delivery)) {
	v.t.Helper()
	connection := must.Get(dial.AMQP(v.url()))(v.t)
	channel := must.Get(connection.Channel())(v.t)
	deliveries := must.Get(channel.Consume(queue, "", false, false, false, false, nil))(v.t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for d := range deliveries {
			handle(d)
		}
	}()
	v.t.Cleanup(func() {
		connection.Close()
		<-over
	})
}

func TestCanary(t *testing.T) {
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed"})
	v.fill("failed", 14)
	dry := v.run("replay", "failed", "--to", "queue:worker", "--canary", "--dry-run")
	plan := decode[accountContract](t, dry)
	assert.That(t, strings.Contains(plan.Canary, "1 message first") && len(plan.Adds) == 1, "the plan is %s", dry.out)
	fails := make(chan bool, 1)
	fails <- true
	v.consume("worker", func(d amqp.Delivery) {
		fail := <-fails
		fails <- fail
		if fail {
			_ = d.Reject(false)
		} else {
			_ = d.Ack(false)
		}
	})
	r := v.run("replay", "failed", "--to", "queue:worker", "--canary", "--canary-wait", "1s", "--yes")
	account := decode[accountContract](t, r)
	assert.That(t, r.status == cli.ExitRefused && account.counts() == "14 1 0 0 0 0" && account.CameBack != nil &&
		*account.CameBack == 1, "exit status %d: %s", r.status, r.out)
	want := "1 of 1 came back; 13 were not touched"
	assert.That(t, strings.Contains(r.stderr, want), "%q is not in %s", want, r.stderr)
	<-fails
	fails <- false
	r = v.run("move", "failed", "--to", "queue:worker", "--canary", "--canary-wait", "1s", "--yes")
	account = decode[accountContract](t, r)
	assert.That(t, r.status == cli.ExitDone && account.counts() == "14 14 0 0 0 0" && *account.CameBack == 0 &&
		strings.Contains(account.Canary, "none came back within 1s"), "exit status %d: %s %s", r.status, r.out, r.stderr)
	assert.Equal(t, v.count("failed"), 0, "messages are left")
}

// TestCanaryWantsAcknowledgements: a delivery alone proves nothing. A worker that gives every message back for ever,
// and one that keeps it, do not pass.
func TestCanaryWantsAcknowledgements(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		handle func(amqp.Delivery)
		tells  string
	}{
		{"requeues", func(d amqp.Delivery) { _ = d.Nack(false, true) }, "redelivered"},
		{"keeps", func(amqp.Delivery) {}, "1 unacknowledged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newVHost(t)
			v.declare("failed", nil)
			v.declare("worker", nil)
			v.fill("failed", 3)
			v.consume("worker", test.handle)
			r := v.run("replay", "failed", "--to", "queue:worker", "--canary", "--canary-wait", "1s", "--yes")
			account := decode[accountContract](t, r)
			if r.status != cli.ExitRefused || account.counts() != "3 1 0 0 0 0" ||
				!strings.Contains(r.stderr, "none acknowledged in "+v.name+"/worker") ||
				!strings.Contains(r.stderr, test.tells) {
				t.Errorf("exit status %d: %s%s", r.status, r.out, r.stderr)
			}
			assert.Equal(t, v.count("failed"), 2, "were left")
		})
	}
}

// TestCanaryOfAnEdit: what the program cannot change stays, as it was said: it is no canary that did not arrive, not
// even as the first message or one of the ten.
func TestCanaryOfAnEdit(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", nil)
	v.fill("failed", 20)
	v.consume("worker", func(d amqp.Delivery) { _ = d.Ack(false) })
	program := `if .body.n == 1 or .body.n == 5 then error("no") else .body.n += 1 end`
	r := v.run("replay", "failed", "--to", "queue:worker", "--edit", program, "--canary", "--canary-wait", "1s", "--yes")
	if got := decode[accountContract](t, r); r.status != cli.ExitRefused || got.counts() != "20 18 0 2 0 0" {
		t.Errorf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
	assert.Equal(t, ids(v.take("failed")), "m-1 m-5", "left")
}
