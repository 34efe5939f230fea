package broker

import (
	"context"
	"time"
)

// catchUp takes what has passed and is on its way still, for a moment; what is left then counts as missed.
func (t *tap) catchUp() {
	end := time.Now().Add(tapCatchUp)
	for time.Now().Before(end) {
		before := t.seen()
		brief, stop := context.WithTimeout(context.Background(), tapIdle)
		t.receive(brief)
		stop()
		q, err := t.control.QueueDeclarePassive(t.queue, false, false, true, false, nil)
		if err != nil || t.deliveries == nil {
			t.cutOff()
			return
		}
		if q.Messages == 0 && t.seen() == before {
			break
		}
	}
	// The answer to a cancel comes after all that was delivered (classic queues, all versions): so each message is
	// delivered here, or still in the queue.
	if t.deliveries == nil || t.channel.Cancel(t.queue, false) != nil {
		t.cutOff()
		return
	}
	for d := range t.deliveries {
		if time.Now().Before(end) {
			t.take(&d)
		} else {
			t.miss(1)
		}
	}
	q, err := t.control.QueueDeclarePassive(t.queue, false, false, true, false, nil)
	if err != nil || t.count() != nil {
		t.cutOff()
		return
	}
	t.miss(q.Messages)
}

func (t *tap) miss(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Missed += int64(n)
}

// cutOff notes that nobody knows what passed since the last count.
func (t *tap) cutOff() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.AtLeast, t.counts.Unsure = true, true
}

func (t *tap) seen() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts.Seen
}
