package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Where others hold all messages of a queue, an action finds none: it says how many they hold, and is no success. Where
// they hold a part, it says so. Until RabbitMQ has counted what is held of a quorum queue, it says for what it waits.
func TestActionSaysWhatOthersHold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := newVHost(t, "other")
			v.declare("q", amqp.Table{"x-queue-type": kind})
			r := v.run("drop q --yes").ends(t, cli.ExitDone, "no message matches")
			assert.That(t, kind != "quorum" || strings.Contains(r.stderr, "nothing matches so far"), "it waits: %s", r.stderr)
			v.fill("q", 3)
			dial.Work(t, v.url(), "q", 4, func(amqp.Delivery) {})
			v.awaitHeld("q", 3)
			v.run("peek q").says(t, "not read: 3 messages: consumers hold them")

			for _, line := range []string{
				"drop q --yes", "move q --to queue:other --dry-run", "replay q --to queue:other --filter size>0 --yes",
			} {
				r := v.run(strings.Fields(line)...).
					ends(t, cli.ExitRefused, "others hold 3 messages of the queue (unacknowledged)")
				assert.Equal(t, r.account(t, "0 0 0 0 0 0").Held, 3, "%s: held", line)
			}

			v.fill("q", 2)
			v.awaitHeld("q", 4)
			v.run("drop q --filter size>0 --yes").
				ends(t, cli.ExitDone, "consumers hold up to 4 more messages").account(t, "1 0 1 0 0 0")
		})
	}
}

// awaitHeld waits until statistics have what consumers hold.
func (v *vhost) awaitHeld(queue string, n int) {
	v.t.Helper()
	must.Await(v.t, "the statistics have what the consumer holds", func() bool {
		q, err := manage.Of(v.t, node.API()).GetQueue(v.name, queue)
		return err == nil && q.MessagesUnacknowledged == n && q.Consumers == 1
	})
}

// While another program looks, an action says at once that it waits for that one. The look gives way to it, though not
// to a dry run, and the action then finds everything.
func TestPlanningSaysForWhomItWaits(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		v := newNamedVHost(t, "waits-"+kind)
		arguments := amqp.Table{"x-queue-type": kind}
		if kind == "quorum" && strings.HasPrefix(node.Version(), "4.") {
			arguments["x-delivery-limit"] = -1 // where looks use up a limit, an export peeks
		}

		v.declare("q", arguments)
		for _, test := range []struct{ line, does, ends string }{
			{"drop q --dry-run --filter size>0", "would drop 2 messages", "2 messages exported"},
			{"drop q --yes --filter size>0", "4 planned, 4 dropped", "gave way"},
			{"drop q --yes", "2 planned, 2 dropped", "gave way"},
		} {
			v.fill("q", 2)
			look := &slowLook{begun: make(chan bool), goOn: make(chan bool)}
			other := make(chan result, 1)
			go func() {
				other <- v.runProgram(changedBroker(func(b cli.Broker) cli.Broker {
					look.Broker = b
					return look
				}), "export q", filepath.Join(t.TempDir(), "file"))
			}()

			<-look.begun
			action := startTalk(t, v.on(strings.Fields(test.line)...)...)
			action.asked("waits: "+v.name+"/q is in use by `dlxtop export` of ", 1)
			close(look.goOn)
			action.ends(cli.ExitDone)
			assert.Contains(t, action.shown.String(), test.does)
			(<-other).says(t, test.ends)
		}
	}
}

// slowLook is a broker whose look stops at the first message.
type slowLook struct {
	cli.Broker
	begun, goOn chan bool
}

func (s *slowLook) Read(ctx context.Context, look peek.Plan, each message.Visit) (peek.Read, error) {
	return s.Broker.Read(ctx, look, func(m *message.Message) error {
		if m.Position == 1 {
			close(s.begun)
			<-s.goOn
		}
		return each(m)
	})
}
