package mgmt

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
)

// doubtDown forgets that queues are listed as down where their node runs, and rereads the state of those whose node is
// not known: a queue that was just declared can be listed as down, in several lists one after the other (4.0.5, seen
// most on a busy node). A queue that really cannot be used although its node runs is refused by the broker.
func (c *Client) doubtDown(ctx context.Context, s *model.Snapshot) error {
	doubted := map[model.QueueRef]*model.Queue{}
	runs := map[string]bool{}
	for n := range model.Each(s.Nodes) {
		runs[n.Name] = n.Running
	}

	for q := range model.Each(s.Queues) {
		if q.Outage() != model.NodeDown {
			continue
		}

		running, known := runs[q.Node]
		switch {
		case running:
			q.State = ""
		case !known:
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
