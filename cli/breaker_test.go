package cli_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// A replay ends when too many of its messages fail again: at once, behind a buffer, or in a retry buffer. What is left
// stays, and a resume goes on. Messages of others are no failures.
func TestBreaker(t *testing.T) {
	t.Parallel()
	type expected struct {
		Name, Failures, Buffer string
		Share                  int // percent that fails
		Args                   string
		Says                   string // "": it goes through
	}
	must.Run(t, "testdata/breakers.toml", func(t *testing.T, test expected) {
		v := newVHost(t, "failed")
		v.declare("buffer", amqp.Table{
			"x-message-ttl": 700, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": test.Buffer,
		})
		v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": test.Failures})
		v.fill("failed", 600)

		var share, taken atomic.Int64
		share.Store(int64(test.Share))
		v.consume("worker", func(d amqp.Delivery) {
			if taken.Add(37)%100 < share.Load() {
				_ = d.Reject(false)
			} else {
				_ = d.Ack(false)
			}
		})

		r := v.run("replay failed --to queue:worker --rate 150/s --yes " + test.Args)
		account := decode[accountContract](t, r)
		share.Store(0)
		if test.Says == "" {
			r.ends(t, cli.ExitDone).account(t, "600 600 0 0 0 0")
			return
		}

		r.ends(t, cli.ExitRefused, test.Says, "still in the queue")
		assert.Contains(t, account.Stopped, test.Says)
		assert.That(t, *account.Moved < 600, "%s", r.out)
		v.run("journal resume", fmt.Sprint(account.JournalID), "--yes").ends(t, cli.ExitDone)
		v.holds("worker", 0)
	})
}
