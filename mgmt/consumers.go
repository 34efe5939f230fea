package mgmt

import (
	"context"
	"net/url"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// consumerElement is one consumer of the list.
type consumerElement struct {
	Tag   field[string] `json:"consumer_tag"`
	Queue field[struct {
		Name  string `json:"name"`
		VHost string `json:"vhost"`
	}] `json:"queue"`
}

// withoutOwn subtracts the consumers of looks and replays, of this program and of others, from the counts of queues:
// while dlxtop reads a failed queue or a buffer, and up to 5 s after it in statistics, it would be taken for a worker.
// It requests the list of consumers, which is current (3.10.8, 4.0.5, 4.3.6), only when a queue has consumers that had
// none of others before, or that no application is expected to consume: 3,000 consumers take a seventh of the time of
// 3,000 queues. missing says why the list was unavailable: then all consumers count.
func (c *Client) withoutOwn(ctx context.Context, queues []model.Queue) (missing []string) {
	before, ask := c.consumed.Load(), false
	consumed := map[model.QueueRef]bool{} // by others
	for q := range model.Each(queues) {
		if q.Consumers.Or(0) > 0 {
			ask = ask || q.Unattended() || before == nil || !(*before)[q.QueueRef]
			consumed[q.QueueRef] = true
		}
	}
	defer c.consumed.Store(&consumed)
	if !ask {
		return nil
	}
	others := map[model.QueueRef]int64{}
	query := url.Values{"columns": {"consumer_tag,queue.name,queue.vhost"}}
	_, err := getList(ctx, c, c.inVHost("consumers"), query, func(e *consumerElement) {
		if !strings.HasPrefix(e.Tag.value, model.ConsumerTag) {
			others[model.QueueRef{VHost: e.Queue.value.VHost, Name: e.Queue.value.Name}]++
		}
	})
	if err != nil {
		return []string{"who consumes which queue: " + c.whyMissing(ctx, err)}
	}
	for q := range model.Each(queues) {
		if consumed[q.QueueRef] {
			q.Consumers = model.Some(others[q.QueueRef])
			consumed[q.QueueRef] = others[q.QueueRef] > 0
		}
	}
	return nil
}
