package peek

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	mostCached      = 50      // peeks
	mostCachedBytes = 2 << 30 // of their bodies, which are on disk
)

// Cache keeps, for each queue, the last peek that used up a delivery limit: every screen shows what that read until a
// key requests another one. Actions of this program keep it up to date; changes by others show in the polls' counts.
type Cache struct {
	Store Store // nil: only this program's own peeks

	mu    sync.Mutex
	peeks []*cachedPeek // oldest first
}

// Store has the peeks of every dlxtop of this user.
type Store interface {
	// Load returns messages that the caller closes.
	Load(cluster string, queue model.QueueRef) (Peeked, bool)
	// SavedAt is zero when there is no peek of the queue.
	SavedAt(cluster string, queue model.QueueRef) time.Time
}

type cachedPeek struct {
	peeked Peeked
	gone   message.Twins // messages that left the queue since
	moved  message.Twins // messages that left it and came back, to its end
	users  int           // how many still have to close it, including the cache
	bytes  int64         // of its bodies
}

// Add caches a peek that used up a delivery limit. The caller uses and closes the result like any other peek.
func (c *Cache) Add(p Peeked) Peeked {
	if p.Messages == nil || !p.Plan.Uses() || p.Plan.Nameless {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(p.Plan.Queue)

	one := &cachedPeek{peeked: p, gone: message.Twins{}, moved: message.Twins{}, users: 2}
	if sized, ok := p.Messages.(interface{ Bytes() int64 }); ok {
		one.bytes = sized.Bytes()
	}
	for len(c.peeks) > 0 && (len(c.peeks) == mostCached || c.bytes()+one.bytes > mostCachedBytes) {
		c.forget(c.peeks[0].peeked.Plan.Queue)
	}

	c.peeks = append(c.peeks, one)
	return one.lend(c, nil, 0)
}

// AddStored adds newer peeks of other programs and earlier starts, from the disk. It leaves out queues from which
// messages were taken since, and those with consumers: they no longer hold what was read.
func (c *Cache) AddStored(t *model.Topology) {
	cluster := t.Snapshot.Overview.ClusterName
	if c.Store == nil || cluster == "" {
		return
	}
	for q := range model.Each(t.Snapshot.Queues) {
		if q.Type != model.Quorum || q.Ready.Or(0) == 0 {
			continue
		}
		at := c.Store.SavedAt(cluster, q.QueueRef)
		if at.IsZero() || !at.After(c.readAt(q.QueueRef)) {
			continue
		}
		p, ok := c.Store.Load(cluster, q.QueueRef)
		if !ok {
			continue
		}
		if !p.TakenAt.After(c.readAt(q.QueueRef)) || !p.MayHold(q) {
			_ = p.Messages.Close()
			continue
		}

		if lent := c.Add(p); lent.Messages != nil {
			_ = lent.Messages.Close()
		}
	}
}

// readAt returns zero when there is no peek of the queue.
func (c *Cache) readAt(queue model.QueueRef) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexOf(queue)
	if i < 0 {
		return time.Time{}
	}
	return c.peeks[i].peeked.TakenAt
}

// Drop forgets a queue of which it is unknown what is left.
func (c *Cache) Drop(queue model.QueueRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(queue)
}

// bytes returns the size of all bodies. mu is held.
func (c *Cache) bytes() (n int64) {
	for _, one := range c.peeks {
		n += one.bytes
	}
	return n
}

// Has reports whether Lend would show as much as a new peek with this limit.
func (c *Cache) Has(queue model.QueueRef, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(queue, limit) != nil
}

// Lend returns the cached peek of a queue, without messages that have left the queue since.
func (c *Cache) Lend(queue model.QueueRef, limit int) (p Peeked, ok bool, err error) {
	c.mu.Lock()
	one := c.find(queue, limit)
	if one == nil {
		c.mu.Unlock()
		return p, false, nil
	}

	one.users++
	gone := maps.Clone(one.gone)
	moved := maps.Clone(one.moved)
	c.mu.Unlock()
	left := make([]int, 0, one.peeked.Messages.Len())
	i := 0
	var back []int

	err = message.Each(one.peeked.Messages, 1, func(m *message.Message) {
		f := m.Fingerprint
		switch {
		case gone[f] > 0:
			gone[f]--
		case moved[f] > 0:
			moved[f]--
			back = append(back, i)
		default:
			left = append(left, i)
		}

		i++
	})

	left = append(left, back...)
	return one.lend(c, left, int64(i-len(left))), err == nil, err
}

// Change is what an action did to the messages of a queue.
type Change struct {
	Gone    message.Twins // messages that left the queue
	Came    message.Twins // messages that came back, to the end of the queue
	Unclear bool          // other messages came or left; a known Came overrides it
}

// Apply keeps the cached peek up to date, or drops it when it is unknown what is left of it.
func (c *Cache) Apply(queue model.QueueRef, change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexOf(queue)
	if i < 0 {
		return
	}

	one := c.peeks[i]
	known := change.Came != nil || !change.Unclear
	for fingerprint, n := range change.Came {
		one.gone[fingerprint] -= n
		one.moved[fingerprint] += n
		known = known && one.gone[fingerprint] >= 0 // otherwise it was not in what was read
	}

	if !known {
		c.forget(queue)
		return
	}

	for fingerprint, n := range change.Gone {
		one.gone[fingerprint] += n
	}
}

// indexOf needs mu.
func (c *Cache) indexOf(queue model.QueueRef) int {
	return slices.IndexFunc(c.peeks, func(one *cachedPeek) bool { return one.peeked.Plan.Queue == queue })
}

// find returns a peek that shows as much as a new one with this limit. mu is held.
func (c *Cache) find(queue model.QueueRef, limit int) *cachedPeek {
	i := c.indexOf(queue)
	if i < 0 {
		return nil
	}

	p := &c.peeks[i].peeked
	depth, known := p.Depth.Get()
	whole := p.Stopped == "" && known && int64(p.Messages.Len()) >= depth
	if !whole && limit > p.Plan.Limit {
		return nil
	}
	return c.peeks[i]
}

// forget needs mu.
func (c *Cache) forget(queue model.QueueRef) {
	if i := c.indexOf(queue); i >= 0 {
		one := c.peeks[i]
		c.peeks = slices.Delete(c.peeks, i, i+1)
		_ = one.release()
	}
}

// release closes the peek after its last user. mu is held.
func (one *cachedPeek) release() error {
	if one.users--; one.users > 0 {
		return nil
	}
	return one.peeked.Messages.Close()
}

// lend returns the messages with these indexes, nil for all, to a user who closes them.
func (one *cachedPeek) lend(c *Cache, left []int, gone int64) Peeked {
	p := one.peeked
	if depth, known := p.Depth.Get(); known {
		p.Depth = model.Some(max(depth-gone, 0))
	}

	lent := lentMessages{Messages: p.Messages, close: sync.OnceValue(func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return one.release()
	})}

	if p.Messages = lent; left != nil {
		p.Messages = message.Part{Messages: lent, Indexes: left}
	}

	return p
}

// lentMessages are messages that others may use, too.
type lentMessages struct {
	message.Messages
	close func() error
}

func (l lentMessages) Close() error { return l.close() }
