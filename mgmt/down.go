package mgmt

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
)

// askAgain rereads the state of queues that are listed as down although their node is not known to be: a queue that was
// just declared can be listed as down (seen twice on 4.0.5).
func (c *Client) askAgain(ctx context.Context, s *model.Snapshot) error {
	doubted := map[model.QueueRef]*model.Queue{}
	stopped := map[string]bool{}
	for n := range model.Each(s.Nodes) {
		stopped[n.Name] = !n.Running
	}

	for q := range model.Each(s.Queues) {
		if q.Outage() == model.NodeDown && !stopped[q.Node] {
			doubted[q.QueueRef] = q
		}
	}

	if len(doubted) == 0 {
		return nil
	}
	query := totalsOnly()
	query.Set("columns", "name,vhost,state")
	_, err := getList(ctx, c, c.inVHost("queues"), query, func(e *queueElement) {
		if q := doubted[e.ref()]; q != nil {
			q.State = e.State.value
		}
	})

	return err
}
