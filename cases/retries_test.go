package cases

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// counts is a worker that retries once by a buffer, and then gives up: it counts in a header of its own.
func counts(header, retry, failed string) action {
	return func(channel *amqp.Channel, d amqp.Delivery) error {
		to := retry
		if d.Headers[header] != nil {
			to = failed
		}
		return republishes("", to, amqp.Table{header: int32(1)})(channel, d)
	}
}

// Messages that wait for another try, and who gets them then.
func TestRetries(t *testing.T) {
	services := []build.Part{
		build.Exchange("fanout", "A"), build.Queue("svc.B", build.Consumers(1)), build.Bind("A", "", "svc.B"),
		build.Queue("svc.C", build.Consumers(1)), build.Bind("A", "", "svc.C"), build.Queue("svc.D"),
		build.Bind("A", "", "svc.D"),
		build.Queue("svc.D.failed"),
	}
	topic := []build.Part{
		build.Exchange("topic", "events"), build.Queue("stock", build.Consumers(1)), build.Bind("events", "order.#", "stock"),
		build.Exchange("topic", "later"), build.Queue("mail", build.DLX("later")), build.Bind("events", "order.paid", "mail"),
	}
	play(t,
		situation{
			name: "a retry comes back through the exchange of all", from: "pardahlman/RawRabbit #314 (c20)",
			parts: append([]build.Part{build.Queue("svc.D.retry", build.TTL(200), build.DLX("A"))}, services...),
			traffic: func(w *world) {
				w.work("svc.D", counts("tries", "svc.D.retry", "svc.D.failed"))
				w.publish("A", "", "x1")
				w.awaitSeen("svc.B", "x1", 2) // it had succeeded
				w.depth("svc.D.failed", 1)
			},
			says:    []string{"warning retry-reaches-others svc.D.retry: retries of svc.D go to svc.B, svc.C, too"},
			silent:  []string{"republished-deaths-uncounted"},
			replays: []replay{{queue: "svc.D.failed", to: "queue:svc.D", reach: "svc.D", got: []string{"svc.D x1"}}},
		},
		situation{
			name: "a retry that keeps its key comes back to all that are bound by it", from: "symfony #36864, #37794 (c20)",
			parts: append([]build.Part{
				build.Queue("wait", build.TTL(200), build.DLX("events")), build.Bind("later", "#", "wait"),
			}, topic...),
			traffic: func(w *world) {
				w.work("mail", rejects)
				w.publish("events", "order.paid", "o1")
				w.awaitSeen("stock", "o1", 2)
			},
			says:   []string{"warning retry-reaches-others wait: retries of mail go to stock, too"},
			silent: []string{"dead-letter-unroutable"},
		},
		situation{
			name: "through two buffers", from: "c20",
			parts: append([]build.Part{
				build.Queue("svc.D.retry.long", build.TTL(200), build.DLX(""), build.DeadKey("svc.D.retry.short")),
				build.Queue("svc.D.retry.short", build.TTL(100), build.DLX("A")),
			}, services...),
			traffic: func(w *world) {
				w.work("svc.D", counts("tries", "svc.D.retry.long", "svc.D.failed"))
				w.publish("A", "", "x1")
				w.awaitSeen("svc.B", "x1", 2)
			},
			says: []string{
				"warning retry-reaches-others svc.D.retry.long: svc.B, svc.C", "warning retry-reaches-others svc.D.retry.short",
			},
		},
		situation{
			name: "retries of each worker come back to it alone", from: "c20",
			parts: append([]build.Part{
				build.Queue("mail.wait", build.TTL(200), build.DLX(""), build.DeadKey("mail")),
				build.Bind("later", "#", "mail.wait"),
				build.Exchange("fanout", "all"), build.Bind("all", "", "stock"), build.Bind("all", "", "mail"),
				build.Queue("nightly", build.TTL(200), build.DLX("all")), // filled by publishers: a delay for all
			}, topic...),
			traffic: func(w *world) {
				w.publish("", "nightly", "n1")
				w.awaitSeen("stock", "n1", 1)
				w.work("mail", rejects)
				w.publish("events", "order.paid", "o1")
				w.awaitSeen("mail", "o1", 3)
			},
			silent: []string{"retry-reaches-others"},
		},
		situation{
			name: "a worker of which nothing shows how it counts", from: "c20",
			when: func(b model.Behaviour) bool { return !b.CountsRepublishedDeaths },
			parts: append([]build.Part{
				build.Queue("svc.D.retry", build.TTL(200), build.DLX(""), build.DeadKey("svc.D")),
			}, services...),
			traffic: func(w *world) {
				w.work("svc.D", republishes("", "svc.D.retry", nil))
				w.publish("A", "", "x1")
				w.awaitSeen("svc.D", "x1", 3)
			},
			says: []string{"warning republished-deaths-uncounted svc.D.retry: retries of svc.D may never end"},
		},
		situation{
			name: "a retry queue that is declared just before each reject", from: "jtassin/peanar, as its worker does it",
			parts: []build.Part{
				build.Exchange("direct", "retry"), build.Exchange("direct", "requeue"), build.Queue("mail", build.DLX("retry")),
				build.Bind("requeue", "mail", "mail"),
			},
			traffic: func(w *world) {
				w.work("mail", func(channel *amqp.Channel, d amqp.Delivery) error {
					if d.Headers["x-death"] != nil {
						return acks(channel, d)
					}
					_, err := channel.QueueDeclare("mail.retry", true, false, false, false, amqp.Table{
						"x-message-ttl": 200, "x-expires": 400, "x-dead-letter-exchange": "requeue",
					})
					if err == nil {
						err = channel.QueueBind("mail.retry", "mail", "retry", false, nil)
					}
					if err != nil {
						return err
					}
					return rejects(channel, d)
				})
				w.publish("", "mail", "m1")
				w.awaitSeen("mail", "m1", 2)
			},
			says: []string{"warning dead-letter-unroutable mail: 1 dead letter came back to mail"},
		},
		situation{
			name: "the same before its first failure", from: "jtassin/peanar",
			parts: []build.Part{
				build.Exchange("direct", "mail.retry.ex"), build.Exchange("direct", "mail.retry-requeue"),
				build.Queue("mail", build.DLX("mail.retry.ex"), build.Consumers(1)),
				build.Bind("mail.retry-requeue", "mail", "mail"),
			},
			says: []string{"warning dead-letter-unroutable mail: the exchange mail.retry-requeue leads back to mail"},
		},
	)
}
