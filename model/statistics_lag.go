package model

import "time"

const (
	// StatisticsLag is how old a count of the management API may be: queues emit statistics every 5 s, and they are
	// collected every 5 s (collect_statistics_interval and the first of sample_retention_policies, 3.10.8 to 4.3.6).
	StatisticsLag = 10 * time.Second
	// LateStatistics is how late the statistics may be for a message that passes two queues. Those of quorum queues take 5
	// s longer.
	LateStatistics = StatisticsLag + 2*time.Second
)

// WithoutStatistics returns the queues of which the broker has no statistics yet, so that nothing is known of their
// consumers, and before RabbitMQ 4.3 little of their policies: new ones, for up to LateStatistics.
func (t *Topology) WithoutStatistics() (refs []QueueRef) {
	if t.Snapshot.Overview.StatsOff {
		return nil
	}

	for q := range t.EachQueue() {
		counted := q.Type == Classic || q.Type == Quorum
		if counted && !q.Consumers.Known() && q.Outage() == NoOutage {
			refs = append(refs, q.QueueRef)
		}
	}

	return refs
}
