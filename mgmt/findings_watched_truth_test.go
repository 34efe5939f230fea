package mgmt

import (
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/watch"
)

func TestFindingLosingNow(t *testing.T) {
	s := newStage(t)
	s.queue("full", amqp.Table{"x-max-length": int64(1), "x-overflow": "reject-publish"})
	s.queue("open", nil)
	for _, to := range []string{"full", "open"} {
		s.queue("to."+to, amqp.Table{
			"x-message-ttl": int64(200), "x-dead-letter-exchange": "",
			"x-dead-letter-routing-key": to,
		})
	}
	s.publish("full", nil) // from now on it refuses
	known := func(snapshot *model.Snapshot) bool {
		return !slices.ContainsFunc(snapshot.Queues, func(q model.Queue) bool {
			return !q.Ready.Known() ||
				q.PolicyDefinition == nil || !q.Consumers.Known()
		})
	}
	before := pollUntil(t, s.poll, "all queues are known", func(snapshot *model.Snapshot) bool {
		return known(snapshot) && find(t, snapshot, "full").Published.Or(0) == 1 && find(t, snapshot, "full").Ready.Or(0) == 1
	})
	for range 20 {
		s.publish("to.full", nil)
		s.publish("to.open", nil)
	}
	s.awaitDepth("open", 20)
	s.awaitDepth("to.full", 0)
	must.Equal(t, s.depth("full"), 1, "the full queue")
	var found []findings.Finding
	pollUntil(t, s.poll, "the statistics have it, over a long enough time", func(after *model.Snapshot) bool {
		if !known(after) || find(t, after, "open").Ready.Or(0) != 20 || find(t, after, "to.full").Published.Or(0) != 20 {
			return false
		}
		over := after.TakenAt.Sub(before.TakenAt)
		moves := watch.Polls(nil).After(model.MovesBetween(before, after), over).Moves()
		found = findings.LosingNow(model.NewTopology(after), moves, over)
		return over > 11*time.Second
	})
	assert.That(t, len(found) == 1 && found[0].Queue == "to.full" && strings.Contains(found[0].Message, "20 messages"),
		"20 messages were lost behind to.full, none behind to.open; found: %+v", found)
}

func TestFindingBlockedHead(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	for _, buffer := range []string{"rising", "falling"} {
		s.queue(buffer, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	}
	published := time.Now().Truncate(time.Second)
	publish := func(queue string, position int, expiration string) message.Message {
		s.confirmed("", queue, amqp.Publishing{Expiration: expiration, Timestamp: published})
		return message.Message{Position: position, Properties: message.Properties{
			Expiration: expiration,
			Timestamp:  published,
		}}
	}
	publish("rising", 1, "100")
	publish("rising", 2, "200")
	messages := []message.Message{
		publish("falling", 1, "600000"), publish("falling", 2, "200"),
		publish("falling", 3, "100"),
	}
	s.awaitDepth("rising", 0)
	must.Equal(t, s.depth("falling"), 3, "messages wait behind the long TTL, though the head holds all")
	topology := model.NewTopology(pollUntil(t, s.poll, "the buffers are known",
		func(snapshot *model.Snapshot) bool { return find(t, snapshot, "falling").Consumers.Known() }))
	falling := model.QueueRef{VHost: s.vhost, Name: "falling"}
	now := time.Now().Add(time.Second) // timestamps are whole seconds
	found := findings.In(topology, falling, lookAt(now, messages...))
	assert.That(t, len(found) == 1 && found[0].Code == "head-of-line-blocked" &&
		strings.Contains(found[0].Message, "2 messages"), "two messages wait for the first: %+v", found)
	if found := findings.In(topology, falling, lookAt(now, messages[2:]...)); len(found) != 0 {
		t.Errorf("nothing is before the last one: %+v", found)
	}
}

// lookAt is a look that found these messages.
func lookAt(at time.Time, messages ...message.Message) peek.Peeked {
	return peek.Peeked{Messages: message.MessageList(messages), TakenAt: at}
}

// received is a message as a look would have it, as far as these findings go.
func received(d amqp.Delivery) message.Message {
	headers := model.Table{}
	for key, v := range d.Headers {
		headers[key] = v
	}
	return message.Message{Position: 1, Headers: headers, Redelivered: d.Redelivered}
}

func TestFindingNearDeliveryLimit(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(3)})
	s.publish("a", nil)
	ref := model.QueueRef{VHost: s.vhost, Name: "a"}
	topology := model.NewTopology(pollUntil(t, s.poll, "the queue is known",
		func(snapshot *model.Snapshot) bool { return find(t, snapshot, "a").Consumers.Known() }))
	for round := range 4 {
		d := s.take("a")
		found := findings.In(topology, ref, lookAt(time.Now(), received(d)))
		// Where returns count, a look that takes a message at its limit rescues it: there is nothing left to warn of.
		rescued := round == 3 && topology.Behaviour.ReturnCountsAsDelivery
		assert.Equal(t, round >= 1 && !rescued, len(found) == 1, "after %d returns of 3: %+v", round, found)
		must.Do(s.t, d.Reject(true))
	}
	s.awaitDepth("a", 0) // one more, and it was lost
}

func TestFindingCopies(t *testing.T) {
	s := newStage(t)
	s.queue("a", nil)
	s.queue("b", nil)
	s.publish("a", amqp.Table{"CC": []any{"b"}})
	s.publish("a", nil)
	s.awaitDepth("b", 1) // the copy
	ref := model.QueueRef{VHost: s.vhost, Name: "a"}
	topology := model.NewTopology(poll(t, s.poll))
	found := findings.In(topology, ref, lookAt(time.Now(), received(s.take("a"))))
	assert.That(t, len(found) == 1 && found[0].Code == "copies", "a message with CC: %+v", found)
	if found := findings.In(topology, ref, lookAt(time.Now(), received(s.take("a")))); len(found) != 0 {
		t.Errorf("a message without: %+v", found)
	}
}
