package plan

import (
	"strconv"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/target"
)

// LongestSpread is the longest time over which messages can be spread.
const LongestSpread = 24 * time.Hour

// LongestHold returns how long dlxtop may hold messages of a queue: a sixth less than the consumer timeout, after which
// RabbitMQ takes them back. No timeout: as long as it likes.
func LongestHold(t *model.Topology, from model.QueueRef) (time.Duration, model.Setting[time.Duration]) {
	timeout := t.ConsumerTimeout(from)
	if !timeout.Set {
		return LongestSpread, timeout
	}
	return timeout.Value / 6 * 5, timeout
}

// spread returns the rate at which messages take a given time in total.
func spread(messages int, over time.Duration) float64 {
	if over <= 0 || messages < 1 {
		return 0
	}
	return float64(messages) / over.Seconds()
}

// PaceWords say how fast it publishes, and how long that takes; "" when it is as fast as the broker confirms.
func (p *Plan) PaceWords() string {
	if p.Rate <= 0 {
		return ""
	}
	took := time.Duration(float64(p.Planned) / p.Rate * float64(time.Second)).Round(time.Second)
	rate := strconv.FormatFloat(p.Rate, 'g', 3, 64)
	if p.Rate >= 100 {
		rate = model.Count(int64(p.Rate))
	}

	return model.Sayf("at most %s/s: %v message(s) (takes|take) %s or more", rate, p.Planned, max(took, time.Second))
}

// Later is a buffer of a flow which passes a message that is published to it to the worker alone, after the buffer's
// TTL.
type Later struct {
	Buffer, Worker model.QueueRef
	After          time.Duration
}

// Laters returns the buffers through which messages of a queue can reach their worker later. They are published to the
// buffer by name, through the default exchange; they then leave it with that name as key, or with the buffer's
// dead-letter key.
func Laters(t *model.Topology, from model.QueueRef) []Later {
	var all []Later
	for _, flow := range t.FlowsOf(from) {
		for _, b := range flow.Buffers {
			if later, ok := laterBy(t, flow.Worker.Queue, b); ok && b.Queue != from {
				all = append(all, later)
			}
		}
	}

	return all
}

func laterBy(t *model.Topology, worker model.QueueRef, b *model.Buffer) (Later, bool) {
	after, known := b.TTL.Get()
	if !known || after <= 0 || b.Held || b.InExchange != "" || len(b.Levels) > 0 {
		return Later{}, false
	}
	if t.Settings(b.Queue).DropsHead() {
		return Later{}, false // messages dropped at its limit would arrive too early
	}
	route := t.DeadLetter(b.Queue, []string{b.Queue.Name}, nil)
	if !route.Exact || len(route.Queues) != 1 || route.Queues[0] != worker {
		return Later{}, false
	}

	return Later{b.Queue, worker, after}, true
}

// comesLater reports whether a queue is a buffer that passes what is published to it by name to the worker.
func (p *Plan) comesLater(t *model.Topology, queue model.QueueRef) (Later, bool) {
	if p.Target.Mode != target.ToQueue || p.Operation != Replay {
		return Later{}, false
	}
	for _, l := range Laters(t, p.From) {
		if l.Buffer == queue {
			return l, true
		}
	}

	return Later{}, false
}
