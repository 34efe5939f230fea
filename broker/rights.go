package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
)

// permittedFor is how long a right is taken for granted; a missing one is asked for again after refusedFor.
const permittedFor = 10 * time.Minute

// permit is what the broker answered about an exchange.
type permit struct {
	writes bool
	until  time.Time
}

// MayWrite reports whether the user may publish to an exchange, as far as permissions say so: topic permissions depend
// on the key.
//
// AMQP has no question for that. To unbind the default exchange from another one is never allowed, but RabbitMQ first
// checks whether the user may write to the other one, and its answer names that (3.10.8, 4.0.5, 4.3.6). It closes the
// channel and logs that in any case.
func (c *Client) MayWrite(ctx context.Context, exchange model.ExchangeRef) (may bool, err error) {
	late := c.counter.inTurn(ctx, "ask for rights", func() { may, err = c.mayWrite(ctx, exchange) })
	if late != nil {
		return false, late
	}

	return may, err
}

// mayWrite is MayWrite for the owner of the counter's turn.
func (c *Client) mayWrite(ctx context.Context, exchange model.ExchangeRef) (bool, error) {
	if p := c.counter.permits[exchange]; time.Now().Before(p.until) {
		return p.writes, nil
	}

	channel, err := c.KeptChannel(ctx, exchange.VHost)
	if err != nil {
		return false, err
	}
	defer channel.Close()

	answer := channel.ExchangeUnbind(exchange.Name, "", "", false, nil)
	p := permit{until: time.Now().Add(refusedFor)}
	switch link.ReasonOf(link.OnUnbind, answer) {
	case link.WriteRight:
		p = permit{true, time.Now().Add(permittedFor)}
	case link.NoWriteRight:
	default:
		return false, fmt.Errorf("ask for the right to write to %s: %w", model.ExchangeName(exchange.Name),
			link.Loss(answer))
	}
	c.counter.permits[exchange] = p
	return p.writes, nil
}
