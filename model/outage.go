package model

import (
	"fmt"
	"slices"
	"strings"
)

// Outage is why a queue cannot be used at the moment.
type Outage string

// The outages. The queue still exists, with its messages, and is back when enough of its nodes run.
const (
	NoOutage   Outage = ""
	NodeDown   Outage = "node down"   // the only node with the queue is down
	NoMajority Outage = "no majority" // a replicated queue with at most half of its members online
	NoLeader   Outage = "no leader"   // a quorum queue whose leader is gone, and no other one is elected yet
)

// Outage returns why the queue cannot be used; NoOutage also when that is unknown. For a classic queue the broker
// reports state down (3.10.8 to 4.3.6). For a quorum queue without a majority 3.10.8 reports no state, but the members
// that are online; a passive declare answers 0 messages. A stream has the state minority then (4.3.6).
func (q *Queue) Outage() Outage {
	few := q.Members != nil && q.Online != nil && len(q.Online) < Majority(len(q.Members))
	switch {
	case few && (q.Type == Quorum || q.State == "minority"):
		return NoMajority
	case q.Type == Quorum && q.State == "down":
		return NoLeader
	case q.State == "down":
		return NodeDown
	}

	return NoOutage
}

// OutageWords say what the queue's outage is and what ends it, "" when there is none.
func (q *Queue) OutageWords() string {
	switch q.Outage() {
	case NodeDown:
		node := "its node"
		if q.Node != "" {
			node = "its node " + Printable(q.Node)
		}
		return node + " is down: the queue comes back with its messages when that node starts"
	case NoMajority:
		offline := q.Offline()
		when := "enough of " + strings.Join(offline, ", ") + " start"
		if len(offline) == 1 {
			when = offline[0] + " starts"
		}
		return fmt.Sprintf("only %d of its %d members are online, fewer than a majority: it comes back when %s",
			len(q.Online), len(q.Members), when)
	case NoLeader:
		return "its leader is gone, and its other members have elected none yet"
	}

	return ""
}

// Offline returns the members that are not online.
func (q *Queue) Offline() []string {
	var missing []string
	for _, node := range q.Members {
		if !slices.Contains(q.Online, node) {
			missing = append(missing, Printable(node))
		}
	}

	return missing
}

// Majority returns how many of a queue's members must be online.
func Majority(members int) int { return members/2 + 1 }

// Node is a node of the cluster as the management API reported it. The details of a node that is down are unknown.
type Node struct {
	Name       string
	Running    bool
	MemAlarm   bool
	DiskAlarm  bool
	MemUsed    Opt[int64] // bytes
	MemLimit   Opt[int64] // bytes: above it the node raises a memory alarm
	DiskFree   Opt[int64] // bytes
	DiskLimit  Opt[int64] // bytes: below it the node raises a disk alarm
	Partitions []string   // nodes that this one was partitioned from and has not rejoined
	Drained    bool       // in maintenance: its members of quorum queues are stopped; only reported by 4.0 and later
	Plugins    []string   // that were enabled by name
}

// Alarm is an alarm that a node of the cluster has raised. Meanwhile RabbitMQ blocks all publishing connections, on
// every node.
type Alarm struct {
	Node     string
	Resource AlarmResource
}

// AlarmResource is what a node runs out of.
type AlarmResource string

const (
	Memory AlarmResource = "memory"
	Disk   AlarmResource = "disk"
)

// Alarms returns the alarms that are set; none when the nodes are unknown.
func (s *Snapshot) Alarms() []Alarm {
	var alarms []Alarm
	for n := range Each(s.Nodes) {
		if n.MemAlarm {
			alarms = append(alarms, Alarm{n.Name, Memory})
		}
		if n.DiskAlarm {
			alarms = append(alarms, Alarm{n.Name, Disk})
		}
	}

	return alarms
}

// AlarmWords returns the alarms in a few words: "memory alarm on rabbit@a", "" when there are none.
func AlarmWords(alarms []Alarm) string {
	words := Mapped(alarms, func(a *Alarm) string { return Sayf("%s alarm on %v", a.Resource, a.Node) })
	return strings.Join(words, ", ")
}
