package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// nowhere is a queue that cannot exist: RabbitMQ keeps names that begin with "amq." for itself.
const nowhere = "amq.dlxtop.nowhere"

// canRescue proves that a message at its delivery limit could be rescued, before one is taken: that it can be written
// down, and that the user may publish to the default exchange. It is asked once for each vhost. The error is a
// *model.RescueImpossible, or that of ctx.
func (c *Client) canRescue(ctx context.Context, plan peek.Plan) error {
	c.mu.Lock()
	proven := c.rescues[plan.Queue.VHost]
	c.mu.Unlock()
	if proven {
		return nil
	}
	err := c.canPublish(ctx, plan.Queue.VHost)
	if err == nil && c.journal != nil {
		err = c.journal.Check(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded): // ctx's, which tells of it a moment later
		return err
	case err != nil:
		return &peek.RescueImpossible{Queue: plan.Queue, Why: model.Printable(err.Error()), Final: plan.Final}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rescues[plan.Queue.VHost] = true
	return nil
}

// canPublish publishes messages without content that no queue gets. RabbitMQ returns them to who may publish to the
// default exchange, and closes the channel of others (403; all versions). They are two: in an alarm RabbitMQ still
// takes a connection's first one, and reads no further (4.0.5). It has a connection of its own for that.
func (c *Client) canPublish(ctx context.Context, vhost string) error {
	connection, conn, channels, err := c.DialChannels(ctx, vhost, "dlxtop may publish", 1)
	if err != nil {
		return err
	}
	defer conn.Cut()
	channel := channels[0]
	const proofs = 2
	returns := channel.NotifyReturn(make(chan amqp.Return, proofs))
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	blocked := connection.NotifyBlocked(make(chan amqp.Blocking, 1))
	for range proofs {
		err := channel.PublishWithContext(ctx, "", nowhere, true, false, amqp.Publishing{})
		if err != nil && !errors.Is(err, amqp.ErrClosed) { // why it is closed comes below
			return link.Loss(err)
		}
	}
	limit := time.NewTimer(c.Timeout())
	defer limit.Stop()
	for returned := 0; returned < proofs; {
		select {
		case <-returns:
			returned++
		case e := <-closed:
			switch {
			case e == nil:
				return link.Loss(amqp.ErrClosed)
			case e.Code == amqp.AccessRefused:
				return fmt.Errorf("the user %s may not publish to the default exchange (it needs write permission on "+
					"amq.default)", c.User())
			}
			return link.Loss(e)
		case b := <-blocked:
			if b.Active {
				return fmt.Errorf("the broker blocks publishers: %s", b.Reason)
			}
		case <-limit.C:
			return fmt.Errorf("the broker did not answer a publish within %s", model.ShortDuration(c.Timeout()))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	wire.HangUp(connection)
	return nil
}
