package find

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Cache has peeks that used up a delivery limit.
type Cache interface {
	// Add returns the peek that the caller uses and closes instead.
	Add(p peek.Peeked) peek.Peeked
	// Lend returns a peek if it shows as many messages as this limit; 0: any.
	Lend(queue model.QueueRef, limit int) (peek.Peeked, bool, error)
}

// Sharing reads a queue from the cache if it can, and caches what it reads where that uses up a delivery limit.
type Sharing struct {
	Looker
	Cache  Cache
	Costly bool // a peek may cost; otherwise such queues are only read from the cache
}

func (s Sharing) Read(ctx context.Context, p peek.Plan, each message.Visit) (peek.Read, error) {
	peeked, ok, err := s.Cache.Lend(p.Queue, 0)
	if !ok && err == nil {
		if !p.Counts || p.Acts {
			return s.Looker.Read(ctx, p, each)
		}
		if !s.Costly {
			return peek.Read{Stopped: "a look has a cost: " + p.Cost}, nil
		}
		if peeked, err = s.Looker.Peek(ctx, p); err == nil {
			peeked = s.Cache.Add(peeked)
		}
	}

	if peeked.Messages == nil {
		return peek.Read{Rescued: peeked.Rescued}, err
	}
	defer peeked.Messages.Close()

	if err == nil {
		err = peeked.Messages.Range(0, peeked.Messages.Len(), 0, each)
	}

	read := peek.Read{Stopped: peeked.Stopped, Rescued: peeked.Rescued}
	if rest := peeked.Depth.Or(0) - int64(peeked.Messages.Len()); read.Stopped == "" && rest > 0 {
		read.Stopped = model.Sayf("%v message(s) were read at %s, %d came since", peeked.Messages.Len(),
			peeked.TakenAt.Local().Format("15:04:05"), rest)
	}

	return read, err
}
