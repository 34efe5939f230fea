package broker

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// carefulPages are the sizes of the first pages where a queue's delivery limit may end a look: the first message shows
// how much of the limit is left, and as few more as possible are taken before one that has used it up.
var carefulPages = []int{1, 8, 64}

// doomedMessages knows which held messages of a source are at their delivery limit: returning them in any way loses
// them.
type doomedMessages struct {
	plan peek.Plan

	sync.Mutex
	doomed  map[uint64]*message.Message // by delivery tag, complete
	claimed map[uint64]bool             // those of them that are acted on
	met     bool                        // one was seen
	highest int64                       // the highest delivery count of the others
	counted int                         // messages
}

// note examines a message before it is passed on. It copies m, and keeps only what m points to.
func (b *doomedMessages) note(tag uint64, m *message.Message, position int) {
	if !b.plan.Limited() {
		return
	}
	count := b.plan.CountOf(m)
	b.Lock()
	defer b.Unlock()
	b.counted++
	if !b.plan.Doomed(count) {
		b.highest = max(b.highest, count)
		return
	}

	b.met = true
	kept := *m
	kept.Identify()
	kept.Position = position
	if b.doomed == nil {
		b.doomed = map[uint64]*message.Message{}
		b.claimed = map[uint64]bool{}
	}

	b.doomed[tag] = &kept
}

// claim records that a message is acted on, which decides its outcome.
func (b *doomedMessages) claim(tag uint64) {
	b.Lock()
	defer b.Unlock()
	if b.doomed[tag] != nil {
		b.claimed[tag] = true
	}
}

// unclaim records that nothing is acted on any more.
func (b *doomedMessages) unclaim() {
	b.Lock()
	defer b.Unlock()
	clear(b.claimed)
}

// acknowledged forgets messages that have left the queue.
func (b *doomedMessages) acknowledged(tag uint64, multiple bool) {
	b.Lock()
	defer b.Unlock()
	delete(b.doomed, tag)
	if multiple {
		maps.DeleteFunc(b.doomed, func(t uint64, _ *message.Message) bool { return t <= tag })
	}
}

// unclaimed returns the tags of the messages that are not acted on, in order.
func (b *doomedMessages) unclaimed() []uint64 {
	b.Lock()
	defer b.Unlock()
	var tags []uint64
	for tag := range b.doomed {
		if !b.claimed[tag] {
			tags = append(tags, tag)
		}
	}

	slices.Sort(tags)
	return tags
}

func (b *doomedMessages) message(tag uint64) *message.Message {
	b.Lock()
	defer b.Unlock()
	return b.doomed[tag]
}

func (b *doomedMessages) end(s *source) (end peek.LookEnd) {
	b.Lock()
	defer b.Unlock()
	end.Complete, end.Ended, end.Uncounted = int64(s.taken) >= s.depth, s.endedBy(), !s.noted
	if s.plan.Method == peek.Stream {
		end.Complete = s.taken < s.prefetch
	}

	end.Moved = s.acknowledged.Load()
	if b.plan.Type == model.Quorum {
		end.Moved = int64(s.taken)
	}
	if s.held() > 0 || end.Ended.Any() {
		end.Highest = b.highest + 1
	}
	if b.met && !end.Complete {
		end.Highest = b.plan.Budget // there may be more of them
	}

	return end
}

// given returns the highest delivery count of the messages once they are returned.
func (b *doomedMessages) given() int64 {
	b.Lock()
	defer b.Unlock()
	if b.plan.Carries {
		return b.highest // a nack does not increase it
	}
	return b.highest + 1
}

// weigh returns the reason not to take any more messages, or nil.
func (b *doomedMessages) weigh() error {
	doomed := len(b.unclaimed()) > 0
	b.Lock()
	defer b.Unlock()
	count := b.highest

	switch {
	case doomed:
		count = b.plan.Budget + 1
	case b.counted > 1:
		return nil
	}

	if reached := b.plan.Weigh(count); reached != nil {
		reached.Left = max(reached.Left-1, 0) // its return counts, too
		return reached
	}

	return nil
}

// page takes the next n messages, or fewer when the queue has no more, ctx ends or an error occurs. each receives every
// message taken, even then. Where the delivery limit may end the look, or the broker has ended one, page takes one
// message first, then a few; the error is then a *peek.LimitReached or a *peek.LookEnded. With --insist, messages at
// their limit are rescued as they arrive.
func (s *source) page(ctx context.Context, n int, each eachTaken) (taken int, err error) {
	for taken < n && err == nil {
		part, rest := n-taken, s.most()
		if (s.plan.Careful() || s.plan.Ended.Sure()) && s.pages < len(carefulPages) {
			part = min(part, carefulPages[s.pages])
		}

		switch {
		case rest == 0:
			return taken, &peek.LookEnded{Type: s.plan.Type, Ended: s.plan.Ended, Reached: true}
		case s.plan.Scarce:
			part = 1
		}

		part = min(part, rest)
		var got int
		got, err = s.takeNext(ctx, part, each)
		taken += got

		switch {
		case !s.plan.Careful() && s.plan.Limited():
			s.rescue()
		case s.plan.Careful() && err == nil:
			err = s.brink.weigh()
		}

		if got < part {
			break
		}
	}

	return taken, s.explained(err)
}
