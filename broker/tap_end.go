package broker

import (
	"context"
	"time"
)

// catchUp takes what has passed and is on its way still, for a moment; what is left then counts as missed.
func (t *tap) catchUp() {
	for end := time.Now().Add(tapCatchUp); ; {
		before := t.seen()
		brief, stop := context.WithTimeout(context.Background(), tapIdle)
		t.receive(brief)
		stop()
		late := !time.Now().Before(end)
		if late {
			t.skip()
		}
		q, err := t.control.QueueDeclarePassive(t.queue, false, true, true, false, nil)
		if err != nil || t.channel.IsClosed() {
			t.cutOff()
			return
		}
		if late {
			t.mu.Lock()
			t.counts.Missed += int64(q.Messages)
			t.mu.Unlock()
		}
		if late || q.Messages == 0 && t.seen() == before {
			break
		}
	}
	if t.count() != nil {
		t.cutOff()
	}
}

// skip counts as missed what is delivered already: the prefetch at most.
func (t *tap) skip() {
	idle := time.NewTimer(tapIdle)
	defer idle.Stop()
	for n := 0; n < tapPrefetch; n++ {
		select {
		case _, open := <-t.deliveries:
			if !open {
				return
			}
			t.mu.Lock()
			t.counts.Missed++
			t.mu.Unlock()
			idle.Reset(tapIdle)
		case <-idle.C:
			return
		}
	}
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
