package broker

import (
	"context"
	"maps"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// remake is how often a lost connection is made again while somebody waits for the next loss.
const remake = 5 * time.Second

// watch tells who waits in Lost when a connection is lost, until it is closed.
func (c *Client) watch(connection *amqp.Connection) {
	closed := connection.NotifyClose(make(chan *amqp.Error, 1)) // it closes once
	c.watching.Go(func() {
		why := <-closed
		if why == nil || limitReached(why, "", "", 0) != nil {
			return // we closed it, or a channel of ours went beyond a limit, which who opened it is told
		}
		select {
		case c.losses <- lost(why):
		default: // nobody has taken the last one yet
		}
	})
}

// Lost waits until a connection that worked is lost, and says why; nil when ctx ends first. A loss before the call
// counts, if no earlier call told it. Meanwhile connections that were lost are made again, so that the next loss is
// known, too. One call at a time.
func (c *Client) Lost(ctx context.Context) error {
	ticker := time.NewTicker(remake)
	defer ticker.Stop()
	for {
		select {
		case why := <-c.losses:
			return why
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.mu.Lock()
			vhosts := slices.Collect(maps.Keys(c.links))
			c.mu.Unlock()
			for _, vhost := range vhosts {
				_, _ = c.connection(ctx, vhost) // that it cannot be made is told by who needs it
			}
		}
	}
}
