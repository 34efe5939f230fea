package mgmt

import (
	"context"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// doubtDown forgets that queues are listed as down where their node runs, and rereads the state of those whose node is
// not known: a queue that was just declared can be listed as down, in several lists one after the other (4.0.5, seen
// most on a busy node). A queue that really cannot be used although its node runs is refused by the broker.
//
// A stream whose leader's node does not run has no state at all on 3.10.8. A node in maintenance has stopped its
// members of quorum queues, which 4.3.6 lists as online nevertheless, and 3.10.8 does not.
func (c *Client) doubtDown(ctx context.Context, s *model.Snapshot) error {
	doubted := map[model.QueueRef]*model.Queue{}
	runs, drained := map[string]bool{}, map[string]bool{}
	for n := range model.Each(s.Nodes) {
		runs[n.Name], drained[n.Name] = n.Running, n.Drained
	}

	for q := range model.Each(s.Queues) {
		if q.Type == model.Quorum {
			q.Online = slices.DeleteFunc(q.Online, func(node string) bool { return drained[node] })
		}

		running, known := runs[q.Node]
		stateless := q.Type == model.Stream && q.State == ""
		switch {
		case stateless && known && !running:
			q.State = "down"
		case q.State != "down":
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
