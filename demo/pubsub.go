package demo

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	retryTTL = 30 * time.Second
	// retries is how many times a worker sends a message to the retry queue before it gives up.
	retries = 3
	// backlogLimit bounds the failed messages that pile up: beyond it, workers stop failing.
	backlogLimit = 60
)

// service is one subscriber of pubsub: a worker's queue, its retry queue and its failed queue.
type service struct {
	name     string   // also the name of the worker's queue
	pattern  string   // of the events that it subscribes to
	poisoned int      // percentage of messages that never succeed
	shaky    int      // percentage of messages that fail once
	errors   []string // the errors of its worker
	seeds    int      // messages that Declare leads into the failed queue
	event    string   // the key of the seeds
	body     func() object
}

var services = []service{
	{
		name: "ucenter@user", pattern: "user.*", poisoned: 2, shaky: 8, seeds: 12, event: "user.created", body: userBody,
		errors: []string{
			"TimeoutError: smtp gateway did not answer in 5 s",
			"TimeoutError: smtp gateway did not answer in 5 s",
			"ValueError: the user has no valid e-mail address",
			`IntegrityError: duplicate key value violates unique constraint "users_email_key"`,
		},
	},
	{
		name: "ucenter@enterprise", pattern: "enterprise.*", poisoned: 2, shaky: 6, seeds: 3,
		event: "enterprise.created", body: enterpriseBody,
		errors: []string{"ConnectionError: vat.example.com:443 refused the connection"},
	},
	{name: "user-monitor", pattern: "user.*", shaky: 3, errors: []string{"KeyError: 'plan'"}},
}

func (s service) retryQueue() string  { return s.name + "@retry" }
func (s service) failedQueue() string { return s.name + "@failed" }

// pubsub is publish and subscribe with a retry queue and a failed queue for each service. The retry queue only leads
// back to its own service, not to the others that subscribe to the same event.
func pubsub() Scenario {
	scenario := Scenario{
		Name:    "pubsub",
		Summary: "three services on topic exchanges, each with a retry queue of 30 s and a failed queue",
		topology: topology{exchanges: []exchange{
			{"master", amqp.ExchangeTopic}, {"master.retry", amqp.ExchangeTopic}, {"master.failed", amqp.ExchangeTopic},
		}},
		seed: func(ctx context.Context, conn *amqp.Connection) error {
			for _, service := range services {
				if err := service.seedFailed(ctx, conn); err != nil {
					return fmt.Errorf("seed %s: %w", service.failedQueue(), err)
				}
			}

			return nil
		},
		filled: map[string]int{},
		actors: []actor{
			repeatedly(900*time.Millisecond, func(ctx context.Context, p *publisher) error {
				event := pick([]string{"user.created", "user.updated", "user.updated", "user.login"})
				return p.publish(ctx, "master", event, message("ucenter", event, userBody()))
			}),
			repeatedly(2500*time.Millisecond, func(ctx context.Context, p *publisher) error {
				event := pick([]string{"enterprise.created", "enterprise.updated"})
				return p.publish(ctx, "master", event, message("ucenter", event, enterpriseBody()))
			}),
		},
	}

	for _, s := range services {
		scenario.topology = scenario.topology.and(topology{
			queues: []queue{
				{name: s.name},
				{name: s.retryQueue(), arguments: amqp.Table{
					"x-dead-letter-exchange": "master", "x-dead-letter-routing-key": s.name, "x-message-ttl": retryTTL.Milliseconds(),
				}},
				{name: s.failedQueue()},
			},
			bindings: []binding{
				{"master", s.pattern, s.name},
				{"master", s.name, s.name},
				{"master.retry", s.retryQueue(), s.retryQueue()},
				{"master.failed", s.failedQueue(), s.failedQueue()},
			},
		})

		scenario.workers = append(scenario.workers, workerOf(s.name, 150*time.Millisecond, s.work))
		scenario.filled[s.failedQueue()] = s.seeds
	}

	return scenario
}

func (s service) work(ctx context.Context, p *publisher, d amqp.Delivery) error {
	tries := deathCount(d.Headers)
	luck := fate(s.name, d.MessageId)
	fails := luck < s.poisoned || luck < s.poisoned+s.shaky && tries == 0
	if fails {
		full, err := s.backlogFull(p.conn)
		if err != nil {
			return err
		}
		fails = !full
	}

	if !fails {
		return d.Ack(false)
	}

	return s.fail(ctx, p, d, tries)
}

// backlogFull reports whether enough has failed. From 4.0 the retry queue fills, because the count of tries never
// rises.
func (s service) backlogFull(conn *amqp.Connection) (bool, error) {
	for _, name := range []string{s.failedQueue(), s.retryQueue()} {
		if ready, err := depth(conn, name); err != nil || ready >= backlogLimit {
			return true, err
		}
	}

	return false, nil
}

// fail returns what a worker does with a message that it cannot handle: publish it to where it waits for the next try,
// or for a person, and only then acknowledge the original.
func (s service) fail(ctx context.Context, p *publisher, d amqp.Delivery, tries int64) error {
	headers := amqp.Table{}
	maps.Copy(headers, d.Headers)
	if _, ok := headers["x-orig-routing-key"]; !ok {
		headers["x-orig-routing-key"] = d.RoutingKey
	}

	headers["x-error"] = s.errorOf(d.MessageId)
	exchange, key := "master.retry", s.retryQueue()
	if tries >= retries {
		exchange, key = "master.failed", s.failedQueue()
	}
	if err := p.publish(ctx, exchange, key, republishing(d, headers)); err != nil {
		return err
	}

	return d.Ack(false)
}

// errorOf returns the worker's error for a message, always the same.
func (s service) errorOf(messageID string) string {
	return s.errors[fate("error", messageID)%len(s.errors)]
}

// seedFailed publishes into the failed queue what a worker would have published after its last try, with the deaths of
// three rounds in the retry queue: waiting for real ones takes a minute and a half. It does nothing when messages
// failed already.
func (s service) seedFailed(ctx context.Context, conn *amqp.Connection) error {
	count := int64(retries)
	if version, _ := conn.Properties["version"].(string); strings.HasPrefix(version, "4.") {
		count = 1 // from 4.0 RabbitMQ starts from one for a republished message
	}

	return seeded(ctx, conn, s.failedQueue(), s.seeds, func(ctx context.Context, p *publisher) error {
		seed := message("ucenter", s.event, s.body())
		// A replay of these must succeed: what broke them is fixed by now.
		for fate(s.name, seed.MessageId) < s.poisoned+s.shaky {
			seed.MessageId = uuid.NewString()
		}

		firstDeath := seed.Timestamp.Add(-(retries - 1) * retryTTL)
		seed.Timestamp = firstDeath.Add(-retryTTL)
		seed.Headers = amqp.Table{
			"x-orig-routing-key":     s.event,
			"x-error":                s.errorOf(seed.MessageId),
			"x-first-death-exchange": "master.retry",
			"x-first-death-queue":    s.retryQueue(),
			"x-first-death-reason":   "expired",
			"x-death": []any{amqp.Table{
				"count": count, "exchange": "master.retry", "queue": s.retryQueue(), "reason": "expired",
				"routing-keys": []any{s.retryQueue()}, "time": firstDeath,
			}},
		}

		return p.publish(ctx, "master.failed", s.failedQueue(), seed)
	})
}

// deathCount reads the count of the newest death, as workers do that rely on it.
func deathCount(headers amqp.Table) int64 {
	deaths, _ := headers["x-death"].([]any)
	if len(deaths) == 0 {
		return 0
	}
	newest, _ := deaths[0].(amqp.Table)
	count, _ := newest["count"].(int64)
	return count
}
