package broker

import (
	"errors"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// publishable refuses what would end the channel or the connection, and with it all that is under way. frameMax is that
// of the connection.
func publishable(p *message.Publishing, user string, frameMax int) error {
	switch q := &p.Properties; {
	case len(p.Exchange) > 255 || len(p.RoutingKey) > 255:
		return errors.New("the name of an exchange and a routing key have 255 bytes at most")
	case q.HasForeignUser(user):
		return fmt.Errorf("its user_id is %s, but RabbitMQ takes only that of the connected user %s",
			model.Printable(q.UserID), model.Printable(user))
	}
	if e := p.Properties.Expiration; e != "" || p.Properties.Zeros.Has(message.PropExpiration) {
		if _, ok := message.ParseExpiration(e); !ok {
			return fmt.Errorf("its expiration is %s, but RabbitMQ takes only whole milliseconds, at most "+
				"315360000000", model.Printable(e))
		}
	}
	return headerFits(p, frameMax)
}
