package broker

import (
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// holds knows of which queues this client holds messages, or did so lately: counts that were taken meanwhile do not
// tell what is there.
type holds struct {
	mu    sync.Mutex
	now   map[model.QueueRef]int       // how many sources
	ended map[model.QueueRef]time.Time // of the last one
}

// begin notes that messages of a queue are held from now on, until end is called. end may be called again.
func (h *holds) begin(queue model.QueueRef) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now[queue]++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.now[queue]--; h.now[queue] == 0 {
			delete(h.now, queue)
		}
		h.ended[queue] = time.Now()
	})
}

// since reports whether messages of a queue were held at any time since then.
func (h *holds) since(queue model.QueueRef, then time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now[queue] > 0 || h.ended[queue].After(then)
}

// Held are the queues of which this client held messages at any time since then: a broker's counts of that time have
// them as unacknowledged, and the client as a consumer.
func (c *Client) Held(since time.Time) map[model.QueueRef]bool {
	c.holds.mu.Lock()
	defer c.holds.mu.Unlock()
	held := make(map[model.QueueRef]bool, len(c.holds.now))
	for queue := range c.holds.now {
		held[queue] = true
	}
	for queue, ended := range c.holds.ended {
		if ended.After(since) {
			held[queue] = true
		}
	}
	return held
}
