package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Importable returns a check for messages that are to be imported into a queue: its error says why the broker would
// close the connection because of one.
func (c *Client) Importable(ctx context.Context, into model.QueueRef) (func(*message.Message) error, error) {
	held, release, err := c.Hold(ctx, into.VHost)
	if err != nil {
		return nil, err
	}
	defer release()
	return func(m *message.Message) error {
		p, _ := plan.Restoring(m, into.Name, c.User())
		return publishable(&p, c.User(), held)
	}, nil
}

// publishable refuses what would close the channel or the connection on which user publishes, and with it everything in
// flight.
func publishable(p *message.Publishing, user string, on *link.Link) error {
	q := &p.Properties
	switch {
	case len(p.Exchange) > 255 || len(p.RoutingKey) > 255:
		return errors.New("the name of an exchange and a routing key have 255 bytes at most")
	case q.HasForeignUser(user):
		return fmt.Errorf("its user_id is %s, but RabbitMQ takes only that of the connected user %s",
			model.Printable(q.UserID), model.Printable(user))
	case (q.DeliveryMode > 2 || q.Zeros.Has(message.PropDeliveryMode)) &&
		model.BehaviourOf(model.ParseVersion(on.Version())).RefusesDeliveryModes:
		return fmt.Errorf("its delivery_mode is %d, and RabbitMQ %s takes only 1 and 2", q.DeliveryMode,
			model.Printable(on.Version()))
	}
	if e := q.Expiration; e != "" || q.Zeros.Has(message.PropExpiration) {
		if _, ok := message.ParseExpiration(e); !ok {
			return fmt.Errorf("its expiration is %s, but RabbitMQ takes only whole milliseconds, at most "+
				"315360000000", model.Printable(e))
		}
	}
	return wire.CheckHeader(p, on.Config.FrameSize)
}
