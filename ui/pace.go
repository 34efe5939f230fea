package ui

import "time"

// pace is how often a broker is asked: not more often than least, and less often when it takes long, so that answering
// takes it at most one part in share of the time; but not less often than most.
type pace struct {
	least, most time.Duration // from the start of one question to the start of the next
	share       int
}

// every is the time from the start of a question that took so long to the start of the next.
func (p pace) every(took time.Duration) time.Duration {
	return min(max(p.least, time.Duration(p.share)*took), max(p.most, p.least))
}

// The two ways to count between polls. A passive declare costs the broker next to nothing; totals are told of all
// queues at once.
var (
	declarePace = pace{least: 250 * time.Millisecond, most: 10 * time.Second, share: 4}
	totalsPace  = pace{least: 250 * time.Millisecond, most: 30 * time.Second, share: 10}
)
