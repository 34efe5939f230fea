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
