package mgmt

import (
	"fmt"
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
	s.declare("queue w\nqueue w.failed")

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

// Right: consumers hold what their prefetch allows while messages wait, until one is acknowledged. Only the active one
// of a queue with a single active consumer holds any.
func TestConsumersHoldAllThatTheyMay(t *testing.T) {
	single := func(kind string) amqp.Table {
		return amqp.Table{"x-queue-type": kind, "x-single-active-consumer": true}
	}

	for _, test := range []struct {
		queue     string
		arguments amqp.Table
		exclusive bool
		prefetch  []int
		held      int
		by        string
	}{
		{"jobs", nil, false, []int{2, 3}, 5, "2 consumers"},
		{"seats", single("classic"), false, []int{2, 3}, 2, "1 consumer"},
		{"quorum-seats", single("quorum"), false, []int{2, 3}, 2, "1 consumer"},
		{"ledger", nil, true, []int{3}, 3, "1 consumer"},
	} {
		t.Run(test.queue, func(t *testing.T) {
			s := newStage(t)
			s.poll.heldLong = 10 * time.Second
			s.queue(test.queue, test.arguments)
			for range 9 {
				s.publish(test.queue, nil)
			}

			var all []<-chan amqp.Delivery
			for _, prefetch := range test.prefetch {
				must.Do(t, s.channel.Qos(prefetch, 0, false))
				all = append(all, must.Get(s.channel.Consume(test.queue, "", false, test.exclusive, false, false, nil))(t))
			}

			found := s.finds("no-acknowledgements", test.queue)
			assert.Contains(t, found.Message, fmt.Sprintf("%d messages wait", 9-test.held))
			evidence := fmt.Sprintf("%d unacknowledged, all that the prefetch of %s allows", test.held, test.by)
			assert.Equal(t, found.Evidence, evidence)

			delivery := <-all[0]
			must.Do(t, delivery.Ack(false))
			s.silent("no-acknowledgements")
		})
	}
}

// Right: of consumers with several priorities, RabbitMQ serves those with the highest first.
func TestFavouredConsumers(t *testing.T) {
	s := newStage(t)
	s.declare("queue mixed\nqueue alike")
	for i, priority := range []int32{1, 7, 7, -3} {
		arguments := amqp.Table{"x-priority": priority}
		must.Get(s.channel.Consume("mixed", "mixed-"+string(rune('a'+i)), true, false, false, false, arguments))(t)
		must.Get(s.channel.Consume("alike", "alike-"+string(rune('a'+i)), true, false, false, false, nil))(t)
	}
	all := func(now *model.Snapshot) bool {
		return find(t, now, "mixed").Consumers.Or(0) == 4 && find(t, now, "alike").Consumers.Or(0) == 4
	}
	pollUntil(t, s.poll, "the consumers are reported", all)

	fresh := client(t, Options{URL: s.b.API(), VHost: s.vhost})
	for range 2 { // the second poll asks for no consumers
		now := poll(t, fresh)
		assert.Equal(t, find(t, now, "mixed").Favoured, 2)
		assert.Equal(t, find(t, now, "alike").Favoured, 0)
	}
}
