package mgmt

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

// Each finding says that a broker misbehaves in some way: here one really does, and the finding is there; and where it
// behaves, the finding stays silent.

func TestFindingMissingDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "nope"})
	s.queue("dead", nil)
	s.publish("a", nil)
	s.awaitDepth("a", 0)
	s.finds("dlx-missing", "a")
	s.exchange("fanout", "nope", nil)
	s.bind("dead", "", "nope")
	s.publish("a", nil)
	s.awaitDepth("dead", 1) // only the second: the first is lost
	s.silent("dlx-missing")
}

func TestFindingUnroutableDeadLetters(t *testing.T) {
	s := newStage(t)
	s.exchange("direct", "x", amqp.Table{"alternate-exchange": "spare"})
	s.exchange("topic", "y", nil)
	must.Do(s.t, s.channel.ExchangeBind("y", "k", "x", false, nil))
	s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "k"})
	s.queue("b", amqp.Table{
		"x-message-ttl": int64(50), "x-dead-letter-exchange": "x",
		"x-dead-letter-routing-key": "other",
	})
	s.queue("dead", nil)
	for _, q := range []string{"a", "b"} {
		s.publish(q, nil)
		s.awaitDepth(q, 0)
		s.finds("dead-letter-unroutable", q)
	}
	s.bind("dead", "#", "y")           // a's way, through a binding between exchanges
	s.exchange("fanout", "spare", nil) // b's way, through the alternate exchange
	s.bind("dead", "", "spare")
	s.publish("a", nil)
	s.awaitDepth("dead", 1)
	s.publish("b", nil)
	s.awaitDepth("dead", 2)
	s.silent("dead-letter-unroutable")
}

func TestFindingTTLWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-message-ttl": int64(50)})
	s.queue("dead", nil)
	s.publish("a", nil)
	s.awaitDepth("a", 0)
	s.finds("ttl-without-dlx", "a")
	s.policy("p", "^a$", `{"dead-letter-exchange":"","dead-letter-routing-key":"dead"}`)
	await(t, "the policy sends dead letters on", func() bool { s.publish("a", nil); return s.depth("dead") > 0 })
	s.silent("ttl-without-dlx")
}

func TestFindingLimitWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-max-length": int64(1)})
	s.queue("b", amqp.Table{"x-max-length": int64(1), "x-overflow": "reject-publish"})
	for range 2 {
		s.publish("a", nil)
	}
	s.awaitDepth("a", 1)
	s.finds("limit-without-dlx", "a")
	s.publish("b", nil)
	assert.That(t, !s.publish("b", nil), "reject-publish took a message too many")
	must.Do(s.t, deleteQueue(s.channel, "a"))
	s.silent("limit-without-dlx")
}

func deleteQueue(channel *amqp.Channel, name string) error {
	_, err := channel.QueueDelete(name, false, false, false)
	return err
}

func TestFindingDeliveryLimitWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(1)})
	s.publish("a", nil)
	for range 2 {
		must.Do(s.t, s.take("a").Reject(true))
	}
	s.awaitDepth("a", 0)
	s.finds("delivery-limit-without-dlx", "a")
	must.Do(s.t, deleteQueue(s.channel, "a"))
	s.queue("b", amqp.Table{
		"x-queue-type": "quorum", "x-delivery-limit": int64(1), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "dead",
	})
	s.queue("dead", nil)
	s.publish("b", nil)
	for range 2 {
		must.Do(s.t, s.take("b").Reject(true))
	}
	s.awaitDepth("dead", 1)
	s.silent("delivery-limit-without-dlx")
}

func TestFindingDeliveryCountCarried(t *testing.T) {
	s := newStage(t)
	carries := model.BehaviourOf(model.ParseVersion(s.b.Version())).CarriesDeliveryCount
	for failed, limit := range map[string]int64{"same": 1, "higher": 2} {
		work := "work-" + failed
		s.queue(failed, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": limit})
		s.queue(work, amqp.Table{
			"x-queue-type": "quorum", "x-delivery-limit": int64(1), "x-dead-letter-exchange": "",
			"x-dead-letter-routing-key": failed,
		})
		s.publish(work, nil)
		for range 2 {
			must.Do(s.t, s.take(work).Reject(true))
		}
		s.awaitDepth(failed, 1)
		must.Do(s.t, s.take(failed).Nack(false, true))
		if failed == "same" && carries {
			s.awaitDepth(failed, 0) // lost
		} else {
			must.Do(s.t, s.take(failed).Ack(false)) // it came back
		}
	}
	if !carries {
		s.silent("delivery-count-carried")
		return
	}
	s.finds("delivery-count-carried", "same")
	must.Do(s.t, deleteQueue(s.channel, "same"))
	s.silent("delivery-count-carried")
}

func TestFindingWorkerWithoutConsumers(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{
		"x-message-ttl": int64(50), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "w",
	})
	s.publish("w.delay", nil)
	s.awaitDepth("w", 1)
	await(t, "the finding says error, for the message that is stuck", func() bool {
		return s.finds("worker-without-consumers", "w").Level == findings.LevelError
	})
	must.Get(s.channel.Consume("w", "", true, false, false, false, nil))(s.t)
	pollUntil(t, s.poll, "the consumer is told",
		func(snapshot *model.Snapshot) bool { return find(t, snapshot, "w").Consumers.Or(0) == 1 })
	s.silent("worker-without-consumers")
}

func TestFindingRejectsLost(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{
		"x-message-ttl": int64(50), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "w",
	})
	s.publish("w.delay", nil)
	must.Do(s.t, s.take("w").Reject(false))
	s.awaitDepth("w", 0)
	s.finds("rejects-lost", "w")
	s.queue("w.failed", nil)
	s.policy("p", "^w$", `{"dead-letter-exchange":"","dead-letter-routing-key":"w.failed"}`)
	pollUntil(t, s.poll, "the policy is told",
		func(snapshot *model.Snapshot) bool { return find(t, snapshot, "w").Policy == "p" })
	s.publish("w.delay", nil)
	must.Do(s.t, s.take("w").Reject(false))
	s.awaitDepth("w.failed", 1)
	s.silent("rejects-lost")
}

func TestFindingBufferWithConsumers(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{
		"x-message-ttl": int64(600000), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "w",
	})
	s.silent("buffer-with-consumers")
	deliveries := must.Get(s.channel.Consume("w.delay", "impatient", true, false, false, false, nil))(s.t)
	s.publish("w.delay", nil)
	<-deliveries // ten minutes early
	s.finds("buffer-with-consumers", "w.delay")
}

// A worker that publishes its failures to a retry buffer, with the headers they came with, and gives up by the count.
func TestFindingUncountedRetries(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.retry", amqp.Table{
		"x-message-ttl": int64(20), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "w",
	})
	s.publish("w.retry", nil)
	var count int64
	for range 3 {
		d := s.take("w")
		deaths := d.Headers["x-death"].([]any)
		count = deaths[0].(amqp.Table)["count"].(int64)
		must.Do(s.t, d.Ack(false))
		s.publish("w.retry", d.Headers)
	}
	version := model.ParseVersion(s.b.Version())
	must.Equal(t, count == 3, model.BehaviourOf(version).CountsRepublishedDeaths,
		"RabbitMQ %s: the count after three rounds is %d", version, count)
	if count == 3 {
		s.silent("republished-deaths-uncounted")
	} else {
		s.finds("republished-deaths-uncounted", "w.retry")
	}
}
