package broker

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// Count counts queues exactly and at once. A queue that does not exist, or is exclusive to another connection, is left out. Do not ask
// for streams, of which a broker says 0 (all versions), nor for classic queues with x-expires, whose lease it renews.
func (c *Client) Count(ctx context.Context, refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
	counts := make(map[model.QueueRef]model.QueueCounts, len(refs))
	channels := map[string]*amqp.Channel{} // by vhost
	defer func() {
		for _, channel := range channels {
			_ = channel.Close()
		}
	}()
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return counts, fmt.Errorf("count queues: %w", err)
		}
		channel := channels[ref.VHost]
		if channel == nil || channel.IsClosed() {
			connection, err := c.connection(ctx, ref.VHost)
			if err != nil {
				return counts, err
			}
			if channel, err = open(connection); err != nil {
				return counts, err
			}
			channels[ref.VHost] = channel
		}
		q, err := channel.QueueDeclarePassive(ref.Name, false, false, false, false, nil)
		if err == nil {
			counts[ref] = model.QueueCounts{Ready: model.Some(int64(q.Messages)), Consumers: model.Some(int64(q.Consumers))}
			continue
		}
		err = queueError("count", ref, err)
		if !errors.Is(err, model.ErrQueueGone) && !errors.Is(err, model.ErrQueueExclusive) {
			return counts, err
		}
	}
	return counts, nil
}
