package broker

import (
	"errors"
	"fmt"
	"strconv"

	"dlxtop/model"
)

// publishable refuses what would end the channel or the connection, and with it all that is under way.
func publishable(p *model.Publishing, user string) error {
	switch q := &p.Properties; {
	case len(p.Exchange) > 255 || len(p.RoutingKey) > 255:
		return errors.New("the name of an exchange and a routing key have 255 bytes at most")
	case q.UserID != "" && q.UserID != user:
		return fmt.Errorf("its user_id is %s, and the broker takes none but that of the connected user %s", model.Printable(q.UserID), model.Printable(user))
	}
	if e := p.Properties.Expiration; e != "" {
		if ms, err := strconv.ParseInt(e, 10, 64); err != nil || ms < 0 {
			return fmt.Errorf("its expiration is %s, and the broker takes whole milliseconds only", model.Printable(e))
		}
	}
	if err := wireTable(p.Headers).Validate(); err != nil {
		return fmt.Errorf("AMQP cannot carry its headers: %s", model.Printable(err.Error()))
	}
	return nil
}
