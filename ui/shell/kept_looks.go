package shell

import (
	"maps"
	"slices"
	"sync"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// mostKeptLooks bounds how many looks are kept. Their bodies are on disk.
const mostKeptLooks = 50

// KeptLooks are the looks that a delivery limit counts, one for each queue: every screen shows what they read without
// another look, until a key requests one. Actions of this program keep them up to date; changes by others show in the
// counts of the polls.
type KeptLooks struct {
	mu    sync.Mutex
	looks []*keptLook // oldest first
}

type keptLook struct {
	peeked peek.Peeked
	gone   map[message.Fingerprint]int // messages that left the queue since
	users  int                         // how many still have to close it, including the list of kept looks
}

// Keep keeps the messages of a look that was counted. The result is used, and closed, like any other look.
func (k *KeptLooks) Keep(p peek.Peeked) peek.Peeked {
	if p.Messages == nil || !p.Plan.Uses() || p.Plan.Nameless {
		return p
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(p.Plan.Queue)
	if len(k.looks) == mostKeptLooks {
		k.forget(k.looks[0].peeked.Plan.Queue)
	}
	one := &keptLook{peeked: p, gone: map[message.Fingerprint]int{}, users: 2}
	k.looks = append(k.looks, one)
	return one.lent(k, nil, 0)
}

// Has reports whether a look at the queue is kept that shows as much as one with this limit would.
func (k *KeptLooks) Has(queue model.QueueRef, limit int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.find(queue, limit) != nil
}

// Lend is the kept look of a queue, without messages that have left the queue since.
func (k *KeptLooks) Lend(queue model.QueueRef, limit int) (p peek.Peeked, ok bool, err error) {
	k.mu.Lock()
	one := k.find(queue, limit)
	if one == nil {
		k.mu.Unlock()
		return p, false, nil
	}
	one.users++
	gone := maps.Clone(one.gone)
	k.mu.Unlock()
	left, i := make([]int, 0, one.peeked.Messages.Len()), 0
	err = message.Each(one.peeked.Messages, 1, func(m *message.Message) {
		if gone[m.Fingerprint] > 0 {
			gone[m.Fingerprint]--
		} else {
			left = append(left, i)
		}
		i++
	})
	return one.lent(k, left, int64(i-len(left))), err == nil, err
}

func (k *KeptLooks) did(d Doing) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.looks {
		if one.peeked.Plan.Queue != d.Queue {
			continue
		}
		known := d.Came != nil || !d.Unclear && d.Back == 0
		for fingerprint, n := range d.Came {
			one.gone[fingerprint] -= n
			known = known && one.gone[fingerprint] >= 0 // otherwise it was not in what was read
		}
		if !known {
			k.forget(d.Queue)
			return
		}
		for fingerprint, n := range d.Gone {
			one.gone[fingerprint] += n
		}
	}
}

// find is the kept look that shows as much as one with this limit would. mu is held.
func (k *KeptLooks) find(queue model.QueueRef, limit int) *keptLook {
	for _, one := range k.looks {
		p := &one.peeked
		if depth, known := p.Depth.Get(); p.Plan.Queue == queue &&
			(limit <= p.Plan.Limit || p.Stopped == "" && known && int64(p.Messages.Len()) >= depth) {
			return one
		}
	}
	return nil
}

// forget stops keeping the look of a queue. mu is held.
func (k *KeptLooks) forget(queue model.QueueRef) {
	if i := slices.IndexFunc(k.looks, func(one *keptLook) bool { return one.peeked.Plan.Queue == queue }); i >= 0 {
		one := k.looks[i]
		k.looks = slices.Delete(k.looks, i, i+1)
		_ = one.release()
	}
}

// release closes the look after its last user. mu is held.
func (one *keptLook) release() error {
	if one.users--; one.users > 0 {
		return nil
	}
	return one.peeked.Messages.Close()
}

// lent is the look for a user who closes it: these messages of it, or all.
func (one *keptLook) lent(k *KeptLooks, left []int, gone int64) peek.Peeked {
	p := one.peeked
	if depth, known := p.Depth.Get(); known {
		p.Depth = model.Some(max(depth-gone, 0))
	}
	lent := lentMessages{Messages: p.Messages, close: sync.OnceValue(func() error {
		k.mu.Lock()
		defer k.mu.Unlock()
		return one.release()
	})}
	if p.Messages = lent; gone > 0 {
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
