package broker

import (
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// holds knows of which queues this client holds messages, or did so recently: counts taken meanwhile are too low.
type holds struct {
	mu    sync.Mutex
	now   map[model.QueueRef]int       // the number of sources
	ended map[model.QueueRef]time.Time // the end of the last one
}

// begin records that messages of a queue are held until end is called. end may be called again.
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

// Held are the queues whose messages this client held at any time since then: the broker's counts of that time show
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
