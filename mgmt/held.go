package mgmt

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// heldLong is how long nothing may move before Queue.HeldFor says so. RabbitMQ keeps the counts of ten minutes.
const heldLong = 5 * time.Minute

// findHeld asks for the history of queues in which messages wait, though they have consumers and nothing moves: they
// are few. Statistics of AMQP 1.0 consumers lack acknowledgements (4.0.5, 4.3.6), and these have no prefetch. What
// cannot be read stays unknown.
func (c *Client) findHeld(ctx context.Context, queues []model.Queue) {
	seconds := strconv.Itoa(int(c.heldLong.Seconds()))
	query := url.Values{
		"columns": {"message_stats.ack_details.avg_rate,messages_unacknowledged_details.avg," +
			"consumer_details.consumer_tag,consumer_details.prefetch_count,consumer_details.active"},
		"msg_rates_age": {seconds}, "msg_rates_incr": {"5"},
		"lengths_age": {seconds}, "lengths_incr": {"5"},
	}

	asked := 0
	for q := range model.Each(queues) {
		waits := q.Ready.Or(0) > 0 && q.Unacked.Or(0) > 0
		moves := q.DeliverRate.Or(0) > 0 || q.AckRate.Or(1) > 0
		if !waits || moves || !q.Consumed() || asked == mostAsked {
			continue
		}

		asked++
		var past queueDetails
		err := c.getObject(ctx, pathOf(q.QueueRef), query, &past)
		acked := past.Stats.value.AckRate.value.Since.opt()
		most, by := allowed(past.Consumers.value)
		full := most > 0 && past.Unacked.value.Mean.value >= float64(most)
		if err == nil && acked == model.Some(0.0) && full {
			q.HeldFor, q.HeldBy = c.heldLong, by
		}
	}
}

// allowed returns how many messages consumers may hold together, and how many these are, other than dlxtop's and those
// that wait behind a single active one; 0 messages when one has no limit.
func allowed(consumers []consumerElement) (most, by int64) {
	for e := range model.Each(consumers) {
		switch {
		case strings.HasPrefix(e.Tag.value, model.ConsumerTag), e.Active.known && !e.Active.value:
		case e.Prefetch.value == 0:
			return 0, 0
		default:
			most += e.Prefetch.value
			by++
		}
	}

	return most, by
}
