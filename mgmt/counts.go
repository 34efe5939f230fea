package mgmt

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
)

// Counts returns the current counts of all queues, at a quarter of a snapshot's cost: they come from the queues and not
// from the statistics, which lag by some seconds (those of quorum queues come from a table that is renewed every few
// seconds). Unreadable elements are left out. This mode has no consumers (3.10.8 to 4.3.6), and no counts of streams.
// Its errors are *trouble.Error, or ctx's when ctx was cancelled.
func (c *Client) Counts(ctx context.Context) (model.CountsByQueue, error) {
	query := totalsOnly()
	query.Set("columns", "name,vhost,messages_ready,messages_unacknowledged,consumers")
	counts := model.CountsByQueue{}
	_, err := getList(ctx, c, c.inVHost("queues"), query, func(e *queueElement) {
		if !e.Name.known || !e.VHost.known {
			return
		}
		counts[e.ref()] = model.QueueCounts{
			Ready: e.Ready.opt(), Unacked: e.Unacked.opt(), Consumers: e.Consumers.opt(),
		}
	})
	if err != nil {
		return nil, c.connectError(ctx, err)
	}

	return counts, nil
}
