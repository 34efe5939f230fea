package plan

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	leastWatch  = 10 * time.Second // without any knowledge of retries
	leastMargin = 5 * time.Second
	longestWait = time.Hour
)

// watchOf returns how long to watch whether failed messages come back: as long as that takes, plus a margin.
func watchOf(round time.Duration) time.Duration {
	if round <= 0 {
		return leastWatch
	}
	return min(max(leastWatch, round+max(leastMargin, round/10)), longestWait)
}

// rounds are the TTLs of workers' retry buffers, by worker and then by the buffer's queue name.
type rounds map[model.QueueRef]map[string]time.Duration

// of returns how long a message takes at most to come back when its worker fails again: as long as it has waited in the
// worker's retry buffers, by its deaths, and at least once through all of them.
func (r rounds) of(t *model.Topology, m *message.Message, worker model.QueueRef) time.Duration {
	waits, known := r[worker]
	if !known {
		waits = map[string]time.Duration{}
		for _, b := range retryBuffers(t, worker) {
			for _, queue := range b.Queues() {
				waits[queue.Name] = min(t.Settings(queue).TTL.Value, longestWait)
			}
		}
		r[worker] = waits
	}

	var once, all time.Duration
	for _, wait := range waits {
		once += wait
	}

	for _, d := range m.Deaths {
		wait, buffers := waits[d.Queue]
		if own, has := message.ParseExpiration(d.OriginalExpiration); has && wait == 0 {
			wait = min(own, longestWait)
		}
		if buffers && d.Reason == model.Expired {
			all += wait * time.Duration(min(max(d.Count, 1), 1000))
		}
	}

	return max(once, all)
}

func retryBuffers(t *model.Topology, worker model.QueueRef) (buffers []*model.Buffer) {
	for _, flow := range t.FlowsOf(worker) {
		for _, b := range flow.Buffers {
			if flow.Worker.Queue == worker && b.Role == model.RetryBuffer {
				buffers = append(buffers, b)
			}
		}
	}

	return buffers
}
