package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
)

// errEnded is why the actors of a scenario stop together; it is never shown.
var errEnded = errors.New("the scenario's connection ended")

const confirmPatience = 10 * time.Second

// closeConnection closes without waiting for a broker that does not answer.
func closeConnection(conn *amqp.Connection) {
	_ = conn.CloseDeadline(time.Now().Add(2 * time.Second))
}

type publisher struct {
	conn    *amqp.Connection
	channel *amqp.Channel
}

func newPublisher(conn *amqp.Connection) (*publisher, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirms: %w", err)
	}

	return &publisher{conn, channel}, nil
}

// publish returns when the broker has confirmed the message.
func (p *publisher) publish(ctx context.Context, exchange, key string, message amqp.Publishing) error {
	confirmation, err := p.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, false, false, message)
	if err != nil {
		return fmt.Errorf("publish to %q by %q: %w", exchange, key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, confirmPatience)
	defer cancel()
	ack, err := confirmation.WaitContext(ctx)
	if err == nil && !ack {
		err = errors.New("the broker refused it")
	}
	if err != nil {
		return fmt.Errorf("publish to %q by %q: %w", exchange, key, err)
	}

	return nil
}

// repeatedly makes an actor that publishes what next makes, with pauses of about this length.
func repeatedly(pause time.Duration, next func(ctx context.Context, p *publisher) error) actor {
	return func(ctx context.Context, conn *amqp.Connection) error {
		p, err := newPublisher(conn)
		if err != nil {
			return err
		}
		for {
			if err := next(ctx, p); err != nil {
				return err
			}
			if !wait(ctx, roughly(pause)) {
				return nil
			}
		}
	}
}

type worker struct {
	queue string
	work  actor
}

// workerOf makes a worker that consumes with a small prefetch, takes some time for each message, and passes it to
// handle, which must acknowledge or reject it.
func workerOf(
	queue string, effort time.Duration, handle func(ctx context.Context, p *publisher, d amqp.Delivery) error,
) worker {
	return worker{queue, func(ctx context.Context, conn *amqp.Connection) error {
		p, err := newPublisher(conn)
		if err != nil {
			return err
		}
		channel, err := conn.Channel()
		if err != nil {
			return fmt.Errorf("open a channel: %w", err)
		}
		if err := channel.Qos(5, 0, false); err != nil {
			return fmt.Errorf("set the prefetch: %w", err)
		}
		deliveries, err := channel.ConsumeWithContext(ctx, queue, "worker of "+queue, false, false, false, false, nil)
		if err != nil {
			return fmt.Errorf("consume %s: %w", queue, err)
		}
		for delivery := range deliveries {
			if !wait(ctx, roughly(effort)) {
				return nil
			}
			if err := handle(ctx, p, delivery); err != nil {
				return err
			}
		}

		return errEnded
	}}
}

// roughly returns d, give or take a fifth: systems do not tick like clocks.
func roughly(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}

// seeded publishes n first messages into a queue, unless it has some already.
func seeded(ctx context.Context, conn *amqp.Connection, queue string, n int,
	publish func(ctx context.Context, p *publisher) error,
) error {
	if ready, err := depth(conn, queue); n == 0 || err != nil || ready > 0 {
		return err
	}
	p, err := newPublisher(conn)
	if err != nil {
		return err
	}
	defer p.channel.Close()
	for range n {
		if err := publish(ctx, p); err != nil {
			return err
		}
	}

	return nil
}

func depth(conn *amqp.Connection, queue string) (int, error) {
	channel, err := conn.Channel() // a separate one: a missing queue closes it
	if err != nil {
		return 0, fmt.Errorf("open a channel: %w", err)
	}
	defer channel.Close()
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", queue, err)
	}

	return state.Messages, nil
}

// message makes a persistent JSON message with a new id and the current time, as a careful publisher does.
func message(application, kind string, body any) amqp.Publishing {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // the bodies below are maps of strings and numbers
	}

	return amqp.Publishing{
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		MessageId:    uuid.NewString(),
		Timestamp:    time.Now().Truncate(time.Second), // AMQP has whole seconds
		Type:         kind,
		AppId:        application,
		Body:         text,
	}
}

// republishing makes a message that republishes a delivered one with other headers.
func republishing(d amqp.Delivery, headers amqp.Table) amqp.Publishing {
	return amqp.Publishing{
		Headers:         headers,
		ContentType:     d.ContentType,
		ContentEncoding: d.ContentEncoding,
		DeliveryMode:    d.DeliveryMode,
		Priority:        d.Priority,
		CorrelationId:   d.CorrelationId,
		ReplyTo:         d.ReplyTo,
		MessageId:       d.MessageId,
		Timestamp:       d.Timestamp,
		Type:            d.Type,
		AppId:           d.AppId,
		Body:            d.Body,
	}
}

// fate returns a number from 0 to 99 that is always the same for a message in a service: what fails there fails there
// again, without any state in the workers.
func fate(service, messageID string) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(service + " " + messageID))
	return int(hash.Sum64() % 100)
}

type object = map[string]any

var (
	givenNames = []string{
		"Ada", "Grace", "Guan", "Ines", "Jürgen", "Katalin", "Mehmet", "Nadia", "Olu", "Søren",
		"Yuki", "Zoë",
	}
	familyNames = []string{
		"Abebe", "Brandt", "Costa", "Díaz", "Eriksson", "Fischer", "Guanguans", "Haddad", "Ito",
		"Kowalska",
	}
	plans     = []string{"free", "team", "business"}
	articles  = []string{"espresso grinder", "desk lamp", "bicycle bell", "rain jacket", "notebook A5", "usb-c cable"}
	companies = []string{"Nordlicht GmbH", "Acme Ltd", "Ríos y Asociados", "Tanaka KK", "Okafor & Sons"}
)

func pick[T any](from []T) T { return from[rand.IntN(len(from))] }

func userBody() object {
	name := pick(givenNames)
	id := 1000 + rand.IntN(9000)

	return object{
		"id":    id,
		"name":  name + " " + pick(familyNames),
		"email": fmt.Sprintf("user%d@example.com", id),
		"plan":  pick(plans),
	}
}

func enterpriseBody() object {
	return object{
		"id":    100 + rand.IntN(900),
		"name":  pick(companies),
		"seats": 5 * (1 + rand.IntN(40)),
		"vat":   fmt.Sprintf("EU%09d", rand.IntN(1e9)),
	}
}

func orderBody() object {
	quantity := 1 + rand.IntN(4)
	cents := 490 + rand.IntN(12000)

	return object{
		"order_id": fmt.Sprintf("A-%06d", rand.IntN(1e6)),
		"customer": 1000 + rand.IntN(9000),
		"items":    []object{{"article": pick(articles), "quantity": quantity, "cents": cents}},
		"total":    object{"cents": quantity * cents, "currency": "EUR"},
	}
}

func mailBody() object {
	user := userBody()
	return object{
		"to":       user["email"],
		"subject":  fmt.Sprintf("Your order A-%06d is on its way", rand.IntN(1e6)),
		"template": "order_shipped",
		"language": pick([]string{"de", "en", "es", "ja"}),
	}
}
