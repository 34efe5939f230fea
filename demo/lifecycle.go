package demo

import (
	"context"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// lifecycle lets ten messages pass from one exclusive queue to another, one each second, with nobody to consume them.
// Every round begins with the second queue emptied.
func lifecycle() Scenario {
	const life, heaven, dlx = "example.delay.life", "example.delay.heaven", "example.dlx.exchange"
	return Scenario{
		Name:    "lifecycle",
		Summary: "exclusive queues and fanouts: ten messages, one of which expires each second",
		topology: topology{
			exchanges: []exchange{{dlx, amqp.ExchangeFanout}},
			queues: []queue{
				{name: life, exclusive: true, arguments: amqp.Table{"x-dead-letter-exchange": dlx}},
				{name: heaven, exclusive: true},
			},
			bindings: []binding{{"amq.fanout", "", life}, {dlx, "", heaven}},
		},
		actors: []actor{
			repeatedly(12*time.Second, func(ctx context.Context, p *publisher) error {
				if _, err := p.channel.QueuePurge(heaven, false); err != nil {
					return err
				}
				for i := range 10 {
					soul := message("example", "life.begin", object{"number": i, "lives_ms": 1000 * i})
					soul.Expiration = strconv.Itoa(1000 * i)
					if err := p.publish(ctx, "amq.fanout", "", soul); err != nil {
						return err
					}
				}
				return nil
			}),
		},
	}
}
