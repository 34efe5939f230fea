package findings

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Findings about the nodes of the cluster and what depends on them. They need the tag monitoring; without it a user
// sees only queues.

func (t *checking) findQueuesDown(q queue) {
	outage := q.Outage()
	if outage == model.NoOutage {
		return
	}
	f := Finding{Code: "queue-down"}

	switch outage {
	case model.NodeDown:
		f.Message = spell("%s is down: messages dead-lettered or published to it are lost or returned: %s", q,
			q.OutageWords())
		f.Evidence = "state down"
		if q.Node != "" {
			f.Evidence += ", node " + model.Printable(q.Node)
		}
	case model.NoMajority, model.NoLeader:
		f.Message = spell("%s can neither be read nor written: %s", q, q.OutageWords())
		f.Evidence = memberWords(q)
		f.Remedy = "start the missing nodes; if one is gone for good: rabbitmq-queues delete_member, " +
			"or force_shrink_member_to_current_member (4.x)"
		if q.Type == model.Stream {
			f.Remedy = "start the missing nodes; if one is gone for good: rabbitmq-streams delete_replica"
		}
	}

	t.foundIn(q, f)
}

// findQuorumAtRisk finds quorum queues that become unavailable when one more node stops. A queue with all its members
// online is reported only if the cluster has more nodes than it uses.
func (t *checking) findQuorumAtRisk(q queue) {
	members, online := len(q.Members), len(q.Online)
	if q.Type != model.Quorum || members == 0 || online != model.Majority(members) {
		return
	}
	f := Finding{
		Code:     "quorum-at-risk",
		Evidence: memberWords(q),
		Message:  spell("%s becomes unavailable when one more of its nodes stops", q),
		Remedy:   "start " + strings.Join(q.Offline(), ", "),
	}

	if online == members {
		if len(t.Snapshot.Nodes) <= members {
			return
		}
		f.Level = LevelInfo
		f.Message = spell("%s has %v member(s): it becomes unavailable when one of (its|their) nodes stops", q, members)
		f.Remedy = "add members: rabbitmq-queues grow NODE all, or add_member"
	}

	t.foundIn(q, f)
}

func memberWords(q queue) string {
	words := spell("%d of %v member(s) online", len(q.Online), len(q.Members))
	if missing := q.Offline(); len(missing) > 0 {
		words += ", not " + strings.Join(missing, ", ")
	}
	return words
}

func (t *checking) findNodesDown() {
	for n := range model.Each(t.Snapshot.Nodes) {
		if n.Running {
			continue
		}
		down, fewer := 0, 0
		for q := range t.EachQueue() {
			switch {
			case q.Outage() == model.NodeDown && q.Node == n.Name, q.Outage() == model.NoMajority &&
				slices.Contains(q.Offline(), model.Printable(n.Name)):
				down++
			case slices.Contains(q.Offline(), model.Printable(n.Name)):
				fewer++
			}
		}

		f := Finding{
			Code:     "node-down",
			Node:     n.Name,
			Message:  spell("the node %s is not running: no queue is unavailable because of it", n.Name),
			Evidence: spell("/api/nodes says running: false; %v queue(s) that (works has|work have) a replica there", fewer),
			Remedy:   "start it; if it is gone for good: rabbitmqctl forget_cluster_node " + model.Printable(n.Name),
		}

		if down > 0 {
			f.Level = LevelError
			f.Message = spell("the node %s is not running: %v queue(s) (is|are) unavailable", n.Name, down)
		}

		t.found(f)
	}
}

func (t *checking) findNodesInMaintenance() {
	for n := range model.Each(t.Snapshot.Nodes) {
		if n.Running && n.Drained {
			t.found(Finding{
				Code: "node-in-maintenance",
				Node: n.Name,
				Message: spell("%s is in maintenance: it takes no connections, and its members of quorum queues are stopped",
					n.Name),
				Evidence: "being_drained in /api/nodes",
			})
		}
	}
}

func (t *checking) findAlarms() {
	for n := range model.Each(t.Snapshot.Nodes) {
		const blocks = "RabbitMQ blocks every connection that publishes, on all nodes, until the alarm ends"
		if n.MemAlarm {
			t.found(Finding{
				Code:     "memory-alarm",
				Node:     n.Name,
				Message:  spell("memory alarm on %s: %s", n.Name, blocks),
				Evidence: spell("mem_alarm; %s used, the limit is %s", bytesOf(n.MemUsed), bytesOf(n.MemLimit)),
			})
		}

		if n.DiskAlarm {
			t.found(Finding{
				Code:     "disk-alarm",
				Node:     n.Name,
				Message:  spell("disk alarm on %s: %s", n.Name, blocks),
				Evidence: spell("disk_free_alarm; %s free, the limit is %s", bytesOf(n.DiskFree), bytesOf(n.DiskLimit)),
			})
		}
	}
}

func bytesOf(n model.Opt[int64]) string {
	if n, ok := n.Get(); ok {
		return message.Size(n) + "B"
	}
	return "?"
}

func (t *checking) findPartitions() {
	for n := range model.Each(t.Snapshot.Nodes) {
		if len(n.Partitions) == 0 {
			continue
		}
		others := strings.Join(n.Partitions, ", ")
		t.found(Finding{
			Code: "partition",
			Node: n.Name,
			Message: spell("%s was cut off from %s: each side goes on alone, and dlxtop shows the view of only one",
				n.Name, others),
			Evidence: spell("partitions in /api/nodes: %s", others),
		})
	}
}
