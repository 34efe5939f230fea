package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Findings about the nodes of the cluster and what depends on them. They need the tag monitoring; without it
// a user sees the queues alone.

func findQueuesDown(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		outage := q.Outage()
		if outage == model.NoOutage {
			continue
		}
		f := Finding{
			Code: "queue-down", Level: LevelError, VHost: q.VHost, Queue: q.Name,
			Remedy: "start the node; do not declare the queue again: its messages are on that node",
		}
		switch outage {
		case model.NodeDown:
			f.Message = fmt.Sprintf("%s is down: messages dead-lettered or published to it are lost or returned: %s",
				model.Printable(q.Name), q.OutageWords())
			f.Evidence = "state down"
			if q.Node != "" {
				f.Evidence += ", node " + model.Printable(q.Node)
			}
		case model.NoMajority:
			f.Message = fmt.Sprintf("%s can neither be read nor written: %s", model.Printable(q.Name), q.OutageWords())
			f.Evidence = memberWords(q)
			f.Remedy = "start the missing nodes; if one is gone for good: rabbitmq-queues delete_member, " +
				"or force_shrink_member_to_current_member (4.x)"
		}
		found(f)
	}
}

// findQuorumAtRisk tells which quorum queues the stop of one more node makes unavailable. One that has all its members
// says so only where the cluster has more nodes than it uses.
func findQuorumAtRisk(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		members, online := len(q.Members), len(q.Online)
		if q.Type != model.Quorum || members == 0 || online != model.Majority(members) {
			continue
		}
		f := Finding{
			Code: "quorum-at-risk", Level: LevelWarning, VHost: q.VHost, Queue: q.Name, Evidence: memberWords(q),
			Message: fmt.Sprintf("%s becomes unavailable when one more of its nodes stops", model.Printable(q.Name)),
			Remedy:  "start " + strings.Join(q.Offline(), ", "),
		}
		if online == members {
			if len(t.Snapshot.Nodes) <= members {
				continue
			}
			f.Level = LevelInfo
			f.Message = fmt.Sprintf("%s has %s: it becomes unavailable when one of %s nodes stops", model.Printable(q.Name),
				model.Plural(members, "member"), its(members))
			f.Remedy = "add members: rabbitmq-queues grow NODE all, or add_member"
		}
		found(f)
	}
}

func memberWords(q *model.Queue) string {
	words := fmt.Sprintf("%d of %s online", len(q.Online), model.Plural(len(q.Members), "member"))
	if missing := q.Offline(); len(missing) > 0 {
		words += ", not " + strings.Join(missing, ", ")
	}
	return words
}

func findNodesDown(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Nodes {
		n := &t.Snapshot.Nodes[i]
		if n.Running {
			continue
		}
		down, fewer := 0, 0
		for i := range t.Snapshot.Queues {
			q := &t.Snapshot.Queues[i]
			switch {
			case q.Outage() == model.NodeDown && q.Node == n.Name, q.Outage() == model.NoMajority &&
				slices.Contains(q.Offline(), model.Printable(n.Name)):
				down++
			case slices.Contains(q.Offline(), model.Printable(n.Name)):
				fewer++
			}
		}
		f := Finding{
			Code: "node-down", Level: LevelWarning, Node: n.Name,
			Message:  fmt.Sprintf("the node %s is not running: no queue is unavailable because of it", model.Printable(n.Name)),
			Evidence: fmt.Sprintf("/api/nodes says running: false; %s a replica there", haveCount(fewer)),
			Remedy:   "start it; if it is gone for good: rabbitmqctl forget_cluster_node " + model.Printable(n.Name),
		}
		if down > 0 {
			f.Level = LevelError
			f.Message = fmt.Sprintf("the node %s is not running: %s unavailable", model.Printable(n.Name),
				model.PluralAre(int64(down), "queue"))
		}
		found(f)
	}
}

func haveCount(queues int) string {
	if queues == 1 {
		return "1 queue that works has"
	}
	return model.Plural(queues, "queue") + " that work have"
}

func findAlarms(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Nodes {
		n := &t.Snapshot.Nodes[i]
		const blocks = "RabbitMQ blocks every connection that publishes, on all nodes, until the alarm ends"
		if n.MemAlarm {
			found(Finding{
				Code: "memory-alarm", Level: LevelError, Node: n.Name,
				Message:  fmt.Sprintf("memory alarm on %s: %s", model.Printable(n.Name), blocks),
				Evidence: fmt.Sprintf("mem_alarm; %s used, the limit is %s", bytesOf(n.MemUsed), bytesOf(n.MemLimit)),
				Remedy: "let consumers empty the queues, or give the node more memory " +
					"(vm_memory_high_watermark); replays wait until then",
			})
		}
		if n.DiskAlarm {
			found(Finding{
				Code: "disk-alarm", Level: LevelError, Node: n.Name,
				Message:  fmt.Sprintf("disk alarm on %s: %s", model.Printable(n.Name), blocks),
				Evidence: fmt.Sprintf("disk_free_alarm; %s free, the limit is %s", bytesOf(n.DiskFree), bytesOf(n.DiskLimit)),
				Remedy:   "free disk space on the node (at least disk_free_limit); replays wait until then",
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

func findPartitions(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Nodes {
		n := &t.Snapshot.Nodes[i]
		if len(n.Partitions) == 0 {
			continue
		}
		others := make([]string, len(n.Partitions))
		for i, other := range n.Partitions {
			others[i] = model.Printable(other)
		}
		found(Finding{
			Code: "partition", Level: LevelError, Node: n.Name,
			Message: fmt.Sprintf("%s was cut off from %s: each side goes on alone, and dlxtop shows the view of only one",
				model.Printable(n.Name), strings.Join(others, ", ")),
			Evidence: "partitions in /api/nodes: " + strings.Join(others, ", "),
			Remedy: "repair the network, then restart the nodes of the side that you trust less (RabbitMQ's guide on " +
				"partitions)",
		})
	}
}
