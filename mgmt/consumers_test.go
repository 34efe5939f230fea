package mgmt

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// The list of consumers lacks those of other users for a user without the tag monitoring.
func TestAUserKnowsTheConsumersOfOthers(t *testing.T) {
	s := newStage(t)
	manage.User(t, s.b.API(), "clerk-of-consumers", "management", s.vhost)
	s.queue("w", nil)
	s.queue("w.failed", nil)

	for queue, tag := range map[string]string{"w": "app", "w.failed": model.ConsumerTag + "look"} {
		must.Get(s.channel.Consume(queue, tag, true, false, false, false, nil))(t)
	}
	pollUntil(t, s.poll, "the consumer is reported",
		func(now *model.Snapshot) bool { return find(t, now, "w").Consumers.Or(0) == 1 })

	for name, api := range map[string]string{"admin": s.b.API(), "clerk": s.b.as("clerk-of-consumers", manage.Password)} {
		now := poll(t, client(t, Options{URL: api, VHost: s.vhost}))
		assert.Equal(t, find(t, now, "w").Consumers.Or(-1), 1, "%s: the worker's consumers", name)
		assert.Equal(t, find(t, now, "w.failed").Consumers.Or(-1), 0, "%s: a look is no consumer", name)
	}
}

// Right: two consumers hold what their prefetch allows while messages wait, until one is acknowledged.
func TestConsumersHoldAllThatTheyMay(t *testing.T) {
	s := newStage(t)
	s.poll.heldLong = 10 * time.Second
	s.queue("jobs", nil)
	for range 9 {
		s.publish("jobs", nil)
	}

	var held <-chan amqp.Delivery
	for _, prefetch := range []int{2, 3} {
		must.Do(t, s.channel.Qos(prefetch, 0, false))
		held = must.Get(s.channel.Consume("jobs", "", false, false, false, false, nil))(t)
	}

	found := s.finds("no-acknowledgements", "jobs")
	assert.Contains(t, found.Message, "4 messages wait")
	assert.Equal(t, found.Evidence, "5 unacknowledged, all that the prefetch of 2 consumers allows")

	delivery := <-held
	must.Do(t, delivery.Ack(false))
	s.silent("no-acknowledgements")
}
