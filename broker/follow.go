package broker

import (
	"context"
	"math"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

const (
	followTick = time.Second // between two counts
	// followShare is the fraction of time for looks and readings of the management API: a look reads all of a queue
	followShare = 20
	// longestFollowing is how long messages may remain in their target without being taken before following ends
	longestFollowing = time.Hour
	mostIDs          = 10_000 // of messages that are recognized although a worker has dropped the mark
)

type follower struct {
	client   *Client
	plan     plan.Following
	sequel   plan.Sequel
	released plan.Released
	behind   map[model.QueueRef]int64 // messages that must leave until our last one is taken
	ready    map[model.QueueRef]int64
	old      int64     // messages that were in the queue before, at most
	looked   int64     // ready messages in the queue when it was last searched
	nextLook time.Time // not before
	nextAcks time.Time
}

// Follow watches whether a replay worked, for as long as its plan says, and writes that into the record. progress is
// called from this goroutine once a second; it may be nil. When ctx ends, it returns what is known so far, with Left
// set.
func (c *Client) Follow(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error) {
	w := &follower{
		client: c, plan: f, released: plan.Released{Mark: f.Mark}, behind: map[model.QueueRef]int64{},
		ready:  map[model.QueueRef]int64{},
		sequel: plan.Sequel{Sent: f.Sent, Watch: f.Watch, Grown: !f.Look.Free || !f.Look.Allowed()},
		looked: -1,
	}
	w.old = ports.CountSettled(ctx, c, f.Queue).Or(math.MaxInt64)
	w.sequel.Until = time.Now().Add(f.Watch)
	if err := w.recognize(ctx); err != nil {
		return w.sequel, err
	}
	ticker := time.NewTicker(followTick)
	defer ticker.Stop()
	began, written := time.Now(), plan.Sequel{}
	for {
		w.step(ctx)
		now := time.Now()
		if w.sequel.Taken < f.Sent && now.Sub(began) < longestFollowing {
			w.sequel.Until = now.Add(f.Watch)
		}
		w.sequel.Over = !now.Before(w.sequel.Until) || !w.sequel.Grown && w.sequel.Back >= f.Sent
		w.sequel.Left = !w.sequel.Over && ctx.Err() != nil
		if progress != nil {
			progress(w.sequel)
		}
		same := w.sequel
		same.At, same.Until = written.At, written.Until
		if f.Record > 0 && c.journal != nil && (same != written || now.Sub(written.At) > f.Watch/10) {
			if err := c.journal.Follow(f.Record, w.sequel); err != nil {
				return w.sequel, err
			}
			written = w.sequel
		}
		if w.sequel.Over || w.sequel.Left {
			return w.sequel, nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (w *follower) recognize(ctx context.Context) error {
	if w.client.journal == nil || w.plan.Record == 0 || w.plan.Sent > mostIDs {
		return nil
	}
	return w.client.journal.Entries(ctx, w.plan.Record, func(e *plan.Entry) error {
		w.released.AddID(e.MessageID)
		return nil
	})
}

// step counts, and looks when that helps. Failed counts are tried again next time.
func (w *follower) step(ctx context.Context) {
	refs := append([]model.QueueRef{w.plan.Queue}, w.plan.Buffers...)
	for _, t := range w.plan.Targets {
		refs = append(refs, t.Queue)
	}
	counts, err := w.client.Count(ctx, refs)
	if err == nil {
		w.count(counts)
		w.acks(ctx)
		err = w.look(ctx, counts[w.plan.Queue])
	}
	w.sequel.Trouble = ""
	if err != nil && ctx.Err() == nil {
		w.sequel.Trouble = err.Error()
	}
}

func (w *follower) count(counts map[model.QueueRef]model.QueueCounts) {
	w.sequel.At = time.Now()
	var waiting, retrying int64
	for _, t := range w.plan.Targets {
		ready, known := counts[t.Queue].Ready.Get()
		if _, there := counts[t.Queue]; !there {
			ready, known = 0, true
		}
		if known {
			before, counted := w.ready[t.Queue]
			if !counted {
				w.behind[t.Queue] = ready
			} else {
				w.behind[t.Queue] = min(w.behind[t.Queue]-max(before-ready, 0), ready)
			}
			w.ready[t.Queue] = ready
		}
		waiting = max(waiting, min(w.behind[t.Queue], w.plan.Sent))
	}
	for _, ref := range w.plan.Buffers {
		retrying += counts[ref].Ready.Or(0)
	}
	w.sequel.Taken = max(w.sequel.Taken, w.plan.Sent-max(waiting, 0))
	w.sequel.Retrying = min(retrying, w.sequel.Taken-min(w.sequel.Back, w.sequel.Taken))
}

// acks reads the number of acknowledgements. Other messages of the same queue count, too.
func (w *follower) acks(ctx context.Context) {
	began := time.Now()
	if began.Before(w.nextAcks) {
		return
	}
	t, err := w.client.statistics(ctx)
	w.nextAcks = time.Now().Add(max(model.StatisticsLag/2, followShare*time.Since(began)))
	if err != nil || t == nil {
		return
	}
	var acked int64
	for _, target := range w.plan.Targets {
		q, _ := t.Queue(target.Queue)
		now, known := q.Taken().Get()
		before, knew := target.Taken.Get()
		if !known || !knew {
			return
		}
		acked += max(now-before-target.Ahead, 0)
	}
	w.sequel.Acked = model.Some(min(max(acked, w.sequel.Acked.Or(0)), w.sequel.Taken))
}

// look finds messages that came back: by the queue's growth if a look has a cost, otherwise when the queue has changed.
func (w *follower) look(ctx context.Context, from model.QueueCounts) error {
	ready, known := from.Ready.Get()
	if !known || from.Held {
		return nil
	}
	w.old = min(w.old, ready)
	if w.sequel.Grown || ready > int64(w.plan.Look.Limit) {
		w.sequel.Back, w.sequel.Grown = max(w.sequel.Back, min(ready-w.old, w.plan.Sent)), true
		return nil
	}
	began := time.Now()
	last := w.sequel.Until.Sub(began) < 2*followTick
	if !last && (ready == w.looked || began.Before(w.nextLook)) {
		return nil
	}
	back, _, err := w.client.cameBack(ctx, w.plan.Look, &w.released, w.old)
	w.nextLook = time.Now().Add(max(followTick, followShare*time.Since(began)))
	if err == nil {
		w.looked, w.sequel.Back = ready, max(w.sequel.Back, int64(back))
	}
	return err
}
