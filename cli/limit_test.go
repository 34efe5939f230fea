package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// dropHead are the arguments of a queue that keeps so many messages and drops the oldest.
func dropHead(kind string, keeps int) amqp.Table {
	return amqp.Table{"x-queue-type": kind, "x-max-length": keeps}
}

// TestDropHeadTarget: what a limit would drop is computed before, and with consent it comes back from the journal, byte
// for byte.
func TestDropHeadTarget(t *testing.T) {
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			v := newVHost(t)
			v.declare("failed", amqp.Table{"x-queue-type": kind})
			v.declare("worker", dropHead(kind, 5))
			v.fill("worker", 3)
			want := v.fillOdd("failed", 12)
			for _, args := range [][]string{
				{"replay", "failed", "--to", "queue:worker"},
				{"move", "failed", "--to", "queue:worker"},
				{"replay", "failed", "--to", "queue:worker", "--dry-run"},
			} {
				r := v.run(append(args, "--yes")...)
				must.That(t, r.status == cli.ExitRefused, "%v: exit status %d: %s%s", args, r.status, r.out, r.stderr)
				for _, words := range []string{
					"worker keeps at most 5 messages", "holds 3", "--insist",
					"10 messages would be dropped: the 3 that it holds and 7 of these 12",
				} {
					assert.Contains(t, r.stderr, words, "%v", args)
				}
			}
			await(t, "nothing was moved", func() bool { return v.count("failed") == 12 && v.count("worker") == 3 })

			r := v.run("move", "failed", "--to", "queue:worker", "--yes", "--insist")
			account := decode[accountContract](t, r)
			must.That(t, r.status == cli.ExitDone && account.counts() == "12 12 0 0 0 0",
				"exit status %d: %s%s", r.status, r.out, r.stderr)
			assert.Contains(t, r.stderr, "would be dropped", "the loss is not told")
			await(t, "the limit drops", func() bool { return v.count("failed") == 0 && v.count("worker") == 5 })
			u := v.run("journal", "undo", fmt.Sprint(account.JournalID), "--yes")
			back := decode[accountContract](t, u)
			assert.That(t, u.status == cli.ExitDone && back.counts() == "12 12 0 0 0 0" &&
				!strings.Contains(u.stderr, "consumer"), "exit status %d: %s%s", u.status, u.out, u.stderr)
			await(t, "all are back", func() bool { return v.count("failed") == 12 && v.count("worker") == 0 })
			got := map[string]string{}
			for _, d := range v.take("failed") {
				got[d.MessageId] = asPublished(d)
			}
			for id, message := range want {
				assert.Equal(t, got[id], message, "%s came back as", id)
			}
		})
	}
}

// fillOdd publishes messages with the ids m-1, m-2, … and with headers, properties and bytes that must come back as
// they are. It returns them as they were published, by id.
func (v *vhost) fillOdd(queue string, n int) map[string]string {
	v.t.Helper()
	all := map[string]string{}
	for i := range n {
		m := amqp.Publishing{
			MessageId: fmt.Sprintf("m-%d", i+1), ContentType: "application/octet-stream", DeliveryMode: 2, Priority: 3,
			CorrelationId: "c", Type: "t", AppId: "a", Body: []byte{0, byte(i), 255, 27},
			Headers: amqp.Table{
				"int": int64(i), "nested": amqp.Table{"list": []any{"x", int32(1), nil}}, "bytes": []byte{0, 255},
			},
		}
		v.publish("", queue, m)
		all[m.MessageId] = asPublished(amqp.Delivery{
			MessageId: m.MessageId, ContentType: m.ContentType, DeliveryMode: m.DeliveryMode, Priority: m.Priority,
			CorrelationId: m.CorrelationId, Type: m.Type, AppId: m.AppId, Headers: m.Headers, Body: m.Body,
			RoutingKey: queue,
		})
	}
	return all
}

// asPublished is everything of a message that its publisher set; x-delivery-count is the broker's.
func asPublished(d amqp.Delivery) string {
	headers := []string{}
	for key, value := range d.Headers {
		if key != "x-delivery-count" && key != "x-acquired-count" {
			headers = append(headers, fmt.Sprintf("%s=%T %v", key, value, value))
		}
	}
	slices.Sort(headers)
	return fmt.Sprint(d.Exchange, d.RoutingKey, d.MessageId, d.ContentType, d.ContentEncoding, d.DeliveryMode,
		d.Priority, d.CorrelationId, d.ReplyTo, d.Expiration, d.Type, d.UserId, d.AppId, d.Timestamp.Unix(),
		headers, d.Body)
}
