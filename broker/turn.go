package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Turns are locks by name, which programs and users of a machine share. Their errors are one sentence.
type Turns interface {
	// Try takes a lock if it is free. Otherwise unlock is nil, and by is who has it.
	Try(name string) (unlock func(), by model.Holder, err error)
	// Taken reports whether a program has a lock.
	Taken(name string) (bool, error)
}

// ownTurns are the turns of one program, where it cannot share any.
type ownTurns struct{ taken sync.Map }

func (o *ownTurns) Try(name string) (unlock func(), by model.Holder, err error) {
	if _, taken := o.taken.LoadOrStore(name, true); taken {
		return nil, by, nil
	}
	return func() { o.taken.Delete(name) }, by, nil
}

func (o *ownTurns) Taken(name string) (bool, error) {
	_, taken := o.taken.Load(name)
	return taken, nil
}

const (
	// turnLimit is how long a look waits for its turn. An action, and a look that decides about one, waits until it is
	// cancelled.
	turnLimit = 10 * time.Second
	turnEvery = 20 * time.Millisecond
	// wantedEvery is how often a look asks whether an action wants its queue: it gives way within a second.
	wantedEvery = 200 * time.Millisecond
	// turnUntold is how long a wait goes without saying.
	turnUntold = time.Second
)

// errGivesWay ends a look because an action wants its queue.
var errGivesWay = errors.New("the look gave way to an action on this queue: look again when that has ended")

// turn is the right to take messages of a queue. While a look or an action holds messages no other look sees them, and
// would take them for gone. On a quorum queue two looks also change the order, because each returns its part when it
// ends (3.10.8, 4.0.5, 4.3.6); and where returns count they can lose messages: a waiting consumer receives what the
// other look returns, and if it is cancelled at that moment, RabbitMQ counts one more return (3.10.8, 4.0.5) and drops
// what is at its limit.
//
// An action, and a look that decides what an action does, also has the only right to act on the queue, for as long as
// it runs. Other looks run between its pages where that does no harm, and give way when it wants the queue back.
type turn struct {
	of   Turns
	at   model.QueueRef
	name string // of the queue, with the broker's
	acts func() // gives up the right to act; nil for a look
	now  func() // lets others look; nil while they may
	tell func(*model.InUse)
	by   model.Holder // the last one that it waited for
	// gaveWay: an action wants the queue of this look, which ends
	gaveWay atomic.Bool
}

// The locks of a queue.
const (
	toAct  = " acts"
	toLook = " looks"
	wanted = " is wanted" // by the program that has the right to act
)

// takeTurn waits for the turn at a queue: for an action, or a look that decides about one, until ctx ends.
func (c *Client) takeTurn(ctx context.Context, queue model.QueueRef, acts bool) (*turn, error) {
	if acts {
		return c.takeTurnWithin(ctx, queue, true, 0)
	}

	return c.takeTurnWithin(ctx, queue, false, turnLimit)
}

// takeTurnWithin waits for the turn at a queue, and says which program has it (model.TellWaits). It needs a connection:
// a turn is named after the cluster, whose name only the broker knows. After the limit, if there is one, the error is a
// *model.InUse.
func (c *Client) takeTurnWithin(
	ctx context.Context, queue model.QueueRef, acts bool, limit time.Duration,
) (*turn, error) {
	if _, err := c.Connection(ctx, queue.VHost); err != nil {
		return nil, err
	}

	t := &turn{
		of:   c.shared(),
		at:   queue,
		name: fmt.Sprintf("%q %q %q", c.clusterName(), queue.VHost, queue.Name),
		tell: model.TellerOfWaits(ctx),
	}

	limited, cancel := ctx, func() {}
	if limit > 0 {
		limited, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()

	err := t.begin(limited, acts)
	if err != nil && limited.Err() == nil { // no longer shared
		c.unshared(err)
		t.of = c.shared()
		err = t.begin(limited, acts)
	}

	switch {
	case err == nil:
		return t, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, &model.InUse{Queue: queue, By: t.by}
	}

	return nil, err
}

// shared returns the turns with other programs, or those of this one where there are none.
func (c *Client) shared() Turns {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil || c.turnsFailed != nil {
		return c.ownTurns
	}
	return c.turns
}

func (c *Client) unshared(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turnsFailed = cmp.Or(c.turnsFailed, err)
}

func (t *turn) begin(ctx context.Context, acts bool) (err error) {
	if acts {
		if t.acts, err = t.await(ctx, toAct); err != nil {
			return err
		}
	}

	if err = t.retry(ctx); err != nil {
		t.end()
	}

	return err
}

// retry waits until no look of others holds messages, and keeps new ones away until pause.
func (t *turn) retry(ctx context.Context) (err error) {
	if t == nil || t.now != nil {
		return nil
	}
	if t.acts != nil {
		want, err := t.await(ctx, wanted)
		if err != nil {
			return err
		}
		defer want()
	}

	t.now, err = t.await(ctx, toLook)
	return err
}

// pause lets others look.
func (t *turn) pause() {
	if t != nil && t.now != nil {
		t.now()
		t.now = nil
	}
}

// end gives everything up. It may be called again.
func (t *turn) end() {
	t.pause()
	if t != nil && t.acts != nil {
		t.acts()
		t.acts = nil
	}
}

// await takes one of the queue's locks.
func (t *turn) await(ctx context.Context, lock string) (unlock func(), err error) {
	began, told := time.Now(), false
	defer func() {
		if told {
			t.tell(nil)
		}
	}()

	for {
		free := true
		if t.acts == nil && lock == toLook {
			taken, err := t.of.Taken(t.name + wanted)
			if err != nil {
				return nil, err
			}
			free = !taken
		}

		var by model.Holder
		if free {
			if unlock, by, err = t.of.Try(t.name + lock); unlock != nil || err != nil {
				return unlock, err
			}
		}

		another := by != t.by && by != (model.Holder{})
		if time.Since(began) > turnUntold && (!told || another) {
			told, t.by = true, by
			t.tell(&model.InUse{Queue: t.at, By: by})
		}

		if err := pause(ctx, turnEvery); err != nil {
			return nil, err
		}
	}
}

// gives reports whether the look has to end because an action wants its queue.
func (t *turn) gives() bool { return t != nil && t.gaveWay.Load() }

// untilWanted returns a context that ends when an action wants the queue of a look.
func (t *turn) untilWanted(ctx context.Context) (look context.Context, stop func()) {
	if t == nil || t.acts != nil {
		return ctx, func() {}
	}
	look, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for pause(look, wantedEvery) == nil {
			if taken, err := t.of.Taken(t.name + wanted); taken && err == nil {
				t.gaveWay.Store(true)
				cancel()
			}
		}
	})

	return look, func() {
		cancel()
		watching.Wait()
	}
}
