package wire

import (
	"errors"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Publishable returns the encoded properties of a message for Carry. It refuses what would close the channel or the
// connection on which user publishes, and with it everything in flight. version is the broker's; frameMax is in bytes.
func Publishable(p *message.Publishing, user, version string, frameMax int) (properties []byte, err error) {
	q := &p.Properties
	switch {
	case len(p.Exchange) > 255 || len(p.RoutingKey) > 255:
		return nil, errors.New("the name of an exchange and a routing key have 255 bytes at most")
	case q.HasForeignUser(user):
		return nil, model.Errorf("its user_id is %v, but RabbitMQ takes only that of the connected user %v",
			q.UserID, user)
	case (q.DeliveryMode > 2 || q.Zeros.Has(message.PropDeliveryMode)) &&
		model.BehaviourOf(model.ParseVersion(version)).RefusesDeliveryModes:
		return nil, model.Errorf("its delivery_mode is %d, and RabbitMQ %v takes only 1 and 2", q.DeliveryMode,
			version)
	}

	if e := q.Expiration; e != "" || q.Zeros.Has(message.PropExpiration) {
		if _, ok := message.ParseExpiration(e); !ok {
			return nil, model.Errorf("its expiration is %v, but RabbitMQ takes only whole milliseconds, at most "+
				"315360000000", e)
		}
	}

	return checkHeader(p, frameMax)
}
