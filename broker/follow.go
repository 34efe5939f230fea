package broker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	followTick = time.Second // between two counts
	// followShare is the fraction of time for looks and readings of the management API: a look reads all of a queue
	followShare = 20
	// longestFollowing is how long messages may remain in their target, or in the hands of consumers, before following
	// ends
	longestFollowing = time.Hour
)

type follower struct {
	client  *Client
	plan    plan.Following
	sequel  plan.Sequel
	behind  map[model.QueueRef]int64 // messages that must leave until our last one is taken
	ready   map[model.QueueRef]int64
	handed  map[model.QueueRef]int64 // deliveries of a target, some time after the last one was taken
	counts  bool                     // looks cost: only counts and looks for other reasons tell
	old     atomic.Int64             // messages that were in the queue before, at most
	began   time.Time
	took    time.Time // when the last one was taken; zero: not yet
	serving int       // counts in a row that showed consumers of the queue

	nextLook time.Time // not before
	nextAcks time.Time

	sync.Mutex
	saw sighting // of the last look of this client at the queue, guarded by the mutex
}

// sighting is what a look at a queue recognized.
type sighting struct {
	back, others int64
	ready        int64 // the messages in the queue, all of which were read; -1: not all were
}

// Follow watches whether a replay worked, for as long as its plan says, and writes that into the record. progress is
// called from this goroutine once a second; it may be nil. When ctx ends, it returns what is known so far, with Left
// set.
//
// What came back is recognized in whatever this client reads of the queue meanwhile, for itself or for others. Where a
// look costs, it counts: from before the first publish, because a worker may be faster than the confirms.
func (c *Client) Follow(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error) {
	w := &follower{
		client: c,
		plan:   f,
		behind: map[model.QueueRef]int64{},
		ready:  map[model.QueueRef]int64{},
		handed: map[model.QueueRef]int64{},
		counts: !f.Look.Free || !f.Look.Allowed(),
		began:  time.Now(),
		sequel: plan.Sequel{
			Sent:   f.Sent,
			Unsure: f.Unsure,
			Watch:  f.Watch,
			Back:   f.Back,
			Leaves: f.Leaves,
		},
		saw: sighting{ready: -1},
	}

	w.old.Store(f.Before)

	w.sequel.Until = w.began.Add(f.Watch)
	if err := w.recognizeEarlier(ctx); err != nil {
		return w.sequel, err
	}
	defer c.watched.add(w)()

	ticker := time.NewTicker(followTick)
	defer ticker.Stop()
	written := plan.Sequel{}
	for {
		w.step(ctx)
		w.judge(ctx)
		if progress != nil {
			progress(w.sequel)
		}

		same := w.sequel
		same.At, same.Until = written.At, written.Until
		if f.Record > 0 && c.journal != nil && (same != written || time.Since(written.At) > f.Watch/10) {
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

// judge decides whether the watch goes on: until some time after the last message was taken and processed.
func (w *follower) judge(ctx context.Context) {
	now, s := time.Now(), &w.sequel
	if s.Taken >= s.Sent && w.took.IsZero() {
		w.took = now
	}

	underway := s.Taken < s.Sent || s.Held > 0
	if underway && now.Sub(w.began) < longestFollowing {
		s.Until = now.Add(s.Watch)
	}

	s.Over = !now.Before(s.Until) || s.Back >= s.Sent
	s.Left = !s.Over && ctx.Err() != nil
}

// recognizeEarlier adds the messages of the record that this one resumes.
func (w *follower) recognizeEarlier(ctx context.Context) error {
	w.plan.Released = w.plan.Released.Copy()
	if w.client.journal == nil || w.plan.Earlier == 0 {
		return nil
	}

	return w.client.journal.Entries(ctx, w.plan.Earlier, func(e *plan.Entry) error {
		w.plan.Released.AddID(e.MessageID)
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
		err = w.returns(ctx, counts[w.plan.Queue])
	}

	w.sequel.Trouble = ""
	if err != nil && ctx.Err() == nil {
		w.sequel.Trouble = err.Error()
	}
}

func (w *follower) count(counts model.CountsByQueue) {
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

// acks reads the number of acknowledgements, and how many messages consumers still hold. Other messages of the same
// queue count, too.
func (w *follower) acks(ctx context.Context) {
	began := time.Now()
	if began.Before(w.nextAcks) && !w.ends(began) {
		return
	}
	t, err := w.client.statistics(ctx)
	w.nextAcks = time.Now().Add(max(model.StatisticsLag/2, followShare*time.Since(began)))
	if err != nil || t == nil {
		return
	}

	w.sequel.Held = min(w.held(t), w.plan.Sent-w.sequel.Back)
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

// held returns how many messages consumers of the targets may still have of ours. RabbitMQ counts acknowledgements and
// no rejections (3.10.8 to 4.3.6); but what was handed out after our last one can only be held when as many before it
// are settled.
func (w *follower) held(t *model.Topology) (held int64) {
	for _, target := range w.plan.Targets {
		q, there := t.Queue(target.Queue)
		if !there || !q.Unacked.Known() {
			continue
		}
		delivered := q.Delivered.Or(0)
		if first, taken := w.handed[target.Queue]; taken {
			held += max(q.Unacked.Or(0)-max(delivered-first, 0), 0)
			continue
		}

		if held += q.Unacked.Or(0); !w.took.IsZero() && time.Since(w.took) > model.StatisticsLag {
			w.handed[target.Queue] = delivered
		}
	}

	return held
}

// returns finds out what came into the queue since the replay began: by its count, and by a look when it has changed
// and that costs nothing.
func (w *follower) returns(ctx context.Context, from model.QueueCounts) error {
	ready, known := from.Ready.Get()
	if !known || from.Held {
		return nil
	}
	if w.serving++; from.Consumers.Or(0) == 0 {
		w.serving = 0
	}

	settled := time.Since(w.began) > settling // what the replay gave back may be counted late
	switch {
	case w.serving > 1:
		w.sequel.Leaves = plan.AnyLeave
	case ready < w.old.Load() && settled:
		w.sequel.Leaves = max(w.sequel.Leaves, plan.OldLeave)
	}

	if settled {
		w.old.Store(min(w.old.Load(), ready))
	}

	saw := w.sighted()
	w.counted(saw, ready)
	began := time.Now()
	last := w.ends(began)
	switch {
	case w.counts || ready > int64(w.plan.Look.Limit), saw.ready == ready && !last, began.Before(w.nextLook) && !last:
		return nil
	}

	_, err := w.client.Read(ctx, w.plan.Look, func(*message.Message) error { return nil })
	w.nextLook = time.Now().Add(max(followTick, followShare*time.Since(began)))
	if err == nil {
		w.counted(w.sighted(), ready)
	}

	return err
}

// counted updates the sequel with what the passes saw, and with how many messages are in the queue now.
func (w *follower) counted(saw sighting, ready int64) {
	s := &w.sequel
	s.Back = max(s.Back, saw.back)
	s.Sent = max(s.Sent, s.Back) // the mark proves it, also where an outcome is unknown
	s.Taken = max(s.Taken, s.Back)
	w.plan.Sent = s.Sent
	s.Held = min(s.Held, s.Sent-s.Back)
	if s.Read = saw.ready == ready; s.Read {
		s.Came = saw.others
		return
	}

	s.Came = max(ready-w.old.Load()-s.Back, 0)
}

// ends reports whether the watch is about to end, so that the last counts and looks are due.
func (w *follower) ends(now time.Time) bool { return w.sequel.Until.Sub(now) < 2*followTick }

func (w *follower) sighted() sighting {
	w.Lock()
	defer w.Unlock()
	return w.saw
}

// watching are the followers of a client. Whatever it reads of their queues shows them what came back.
type watching struct {
	sync.Mutex
	followers map[*follower]bool
}

func (w *watching) add(f *follower) (remove func()) {
	w.Lock()
	defer w.Unlock()
	if w.followers == nil {
		w.followers = map[*follower]bool{}
	}

	w.followers[f] = true
	return func() {
		w.Lock()
		defer w.Unlock()
		delete(w.followers, f)
	}
}

// recognizer is one pass through a queue that a follower watches.
type recognizer struct {
	follower *follower
	pass     *plan.ComeBacks
}

// of returns the recognizers for a pass through a queue.
func (w *watching) of(queue model.QueueRef) (all []recognizer) {
	w.Lock()
	defer w.Unlock()
	for f := range w.followers {
		if f.plan.Queue == queue {
			all = append(all, recognizer{f, f.plan.Released.ComeBacks()})
		}
	}

	return all
}

func (r *recognizer) look(m *message.Message, number int) {
	r.pass.Look(m, int64(number) > r.follower.old.Load())
}

// ends reports to the follower what a pass saw; depth is what the queue had when it began.
func (r *recognizer) ends(taken int, depth int64) {
	saw := sighting{int64(r.pass.Count), int64(r.pass.Others), -1}
	if int64(taken) >= depth {
		saw.ready = int64(taken)
	}
	r.follower.Lock()
	defer r.follower.Unlock()
	r.follower.saw = saw
}
