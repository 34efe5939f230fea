package model

// Topology is a snapshot with its settings, routing, flows and findings worked out. It is immutable and safe for
// concurrent use.
type Topology struct {
	Snapshot *Snapshot
	queues   map[QueueRef]*Queue
}

// NewTopology indexes a snapshot. The snapshot must not change afterwards.
func NewTopology(s *Snapshot) *Topology {
	return &Topology{Snapshot: s}
}

// Queue finds a queue.
func (t *Topology) Queue(ref QueueRef) (*Queue, bool) {
	q, ok := t.queues[ref]
	return q, ok
}

// Settings are the effective settings of a queue.
func (t *Topology) Settings(ref QueueRef) Settings { return Settings{} }

// Route tells which queues a publish to an exchange reaches.
func (t *Topology) Route(vhost, exchange string, keys []string, headers Table) Route { return Route{} }

// Hops are the ways out of a queue.
func (t *Topology) Hops(ref QueueRef) []Hop { return nil }

// Flows are all flows, sorted by vhost and name.
func (t *Topology) Flows() []Flow { return nil }

// FlowOf finds the flow that a queue belongs to.
func (t *Topology) FlowOf(ref QueueRef) (*Flow, bool) { return nil, false }

// Findings are sorted by level, then code, then queue.
func (t *Topology) Findings() []Finding { return nil }
