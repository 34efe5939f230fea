// Package find looks for a text or an expression in the messages of many queues: which queues are read and in which
// order, which are left out and why, and where in a message it was found. One goroutine runs a Search and another
// follows it, so that holding messages never waits for a screen or a pipe.
package find

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/trouble"
)

type Looker interface {
	Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error)
	// Read calls each with every message of a queue; all are held until Read returns.
	Read(ctx context.Context, plan peek.Plan, each message.Visit) (peek.Read, error)
	Count(ctx context.Context, queues []model.QueueRef) (model.CountsByQueue, error)
}

type Progress struct {
	Queues int   // done, or without need to be read
	Of     int   // to be read in total
	Read   int64 // messages
	Hits   int
	Now    model.QueueRef // being read
	Took   time.Duration
}

func (p Progress) Rate() int64 {
	if p.Took < time.Millisecond {
		return 0
	}
	return int64(float64(p.Read) / p.Took.Seconds())
}

// NotRead is a queue, or the rest of one, that was not searched.
type NotRead struct {
	Queue    model.QueueRef
	Messages model.Opt[int64] // as far as known
	Why      string           // one sentence, not printable
	Costly   bool             // only the cost of peeking is against it
}

type Result struct {
	Progress
	NotRead []NotRead      // skipped queues first
	Rescued []peek.Rescued // by peeking at queues at their delivery limit
	Enough  bool           // it ended with the maximum number of hits
	Failed  error          // from the first queue that could not be read
	Filter  *filter.Filter // as it ran, which says what was unknown
}

// Search is a running search. One goroutine calls Run, another Next.
type Search struct {
	want   Want
	queues []Queue
	looker Looker
	enter  func(ctx context.Context, vhost string) error
	began  time.Time

	mu       sync.Mutex // guards the fields below
	progress Progress
	hits     []Hit // not returned by Next yet
	ended    bool
	news     chan struct{} // one pending signal is enough

	result  Result
	counted model.CountsByQueue // those that were empty by the statistics
	vhosts  map[string]error    // those that were entered
	told    time.Time           // when progress was last signalled
}

// tellEvery is how often progress is signalled without hits. A hit is signalled at once.
const tellEvery = 100 * time.Millisecond

// New returns a search through queues. enter is called once for each vhost before its first queue is read; it may be
// nil.
func New(looker Looker, queues []Queue, want Want, enter func(ctx context.Context, vhost string) error) *Search {
	s := &Search{
		want: want, queues: queues, looker: looker, enter: enter, began: time.Now(),
		news:   make(chan struct{}, 1), // one signal, see above
		vhosts: map[string]error{}, counted: model.CountsByQueue{},
	}

	for i := range queues {
		if queues[i].why == "" {
			s.progress.Of++
		}
	}

	return s
}

// longestRead bounds how long the messages of one queue are held: its consumers wait meanwhile.
const longestRead = 30 * time.Second

// errEnough ends a read: the limit of a queue, or of hits, is reached.
var errEnough = errors.New("enough was read")

// Run searches until all is read, the wanted hits are found, or ctx ends. The error is one that ends everything: the
// broker cannot be reached any more, or is a different one. The result is valid in any case.
func (s *Search) Run(ctx context.Context) (Result, error) {
	defer s.end()
	s.want.Filter = s.want.Filter.About(nil).Within(ctx)
	s.result.Filter = s.want.Filter
	s.countEmpty(ctx, func(q *Queue) bool { return q.why == "" })
	s.result.NotRead = Skipped(s.queues)

	var fatal error
	for q := range model.Each(s.queues) {
		switch {
		case q.why != "":
			continue
		case s.empty(q):
			s.read(q)
			continue
		case ctx.Err() != nil:
			s.miss(q.Ref, q.Ready, "the search was ended before")
			continue
		case s.result.Enough:
			s.miss(q.Ref, q.Ready, model.Sayf("the search ended before, with %v message(s) found", s.want.Hits))
			continue
		case fatal != nil:
			s.miss(q.Ref, q.Ready, "the connection was lost before")
			continue
		}

		if err := s.queue(ctx, q); err != nil {
			fatal = err
		}
	}

	s.missEmpty(ctx)
	s.mu.Lock()
	s.progress.Took = time.Since(s.began)
	s.result.Progress = s.progress
	s.mu.Unlock()
	return s.result, fatal
}

// countEmpty finds out which queues that are empty by the statistics, which lag, really are: peeking takes longer, or
// has a cost. which selects among them.
func (s *Search) countEmpty(ctx context.Context, which func(*Queue) bool) {
	const atOnce = 500
	var refs []model.QueueRef
	for q := range model.Each(s.queues) {
		if q.empty && which(q) {
			refs = append(refs, q.Ref)
		}
	}

	for len(refs) > 0 && ctx.Err() == nil {
		n := min(len(refs), atOnce)
		counts, err := s.looker.Count(ctx, refs[:n])
		if err != nil {
			return // then they are read
		}
		maps.Copy(s.counted, counts)
		refs = refs[n:]
	}
}

// empty reports whether a queue is empty by an exact count.
func (s *Search) empty(q *Queue) bool {
	c := s.counted[q.Ref]
	return c.Ready.Or(1) == 0 && !c.Held
}

// missEmpty counts those unread queues that were empty by the statistics, and reports messages that arrived since.
func (s *Search) missEmpty(ctx context.Context) {
	skipped := func(q *Queue) bool { return q.why != "" }
	s.countEmpty(ctx, skipped)
	for q := range model.Each(s.queues) {
		if c, counted := s.counted[q.Ref]; q.empty && skipped(q) && counted && !s.empty(q) {
			s.result.NotRead = append(s.result.NotRead, NotRead{q.Ref, c.Ready, q.why, q.costly})
		}
	}
}

// queue reads one queue. Its error ends the search.
func (s *Search) queue(ctx context.Context, q *Queue) error {
	s.mu.Lock()
	s.progress.Now = q.Ref
	s.mu.Unlock()
	err, entered := s.vhosts[q.Ref.VHost]
	if !entered && s.enter != nil {
		err = s.enter(ctx, q.Ref.VHost)
		s.vhosts[q.Ref.VHost] = err
	}

	n, why := int64(0), ""
	if err == nil {
		n, why, err = s.messages(ctx, q)
	}

	var limit peek.RefusedLook
	switch {
	case err == nil && why == "":
		s.read(q)
		return nil
	case err == nil:
		s.read(q)
		s.miss(q.Ref, rest(q.Ready, n), why)
		return nil
	case ctx.Err() != nil:
		s.miss(q.Ref, rest(q.Ready, n), "the search was ended while it was read")
		return nil
	case errors.As(err, &limit):
		s.miss(q.Ref, q.Ready, limit.Refusal().Words())
		return nil
	case errors.Is(err, model.ErrQueueGone):
		s.miss(q.Ref, model.Unknown[int64](), model.ErrQueueGone.Error())
		return nil
	}

	s.miss(q.Ref, rest(q.Ready, n), err.Error())
	if s.result.Failed == nil {
		s.result.Failed = err
	}

	var connect *trouble.Error
	if errors.As(err, &connect) {
		switch connect.Kind {
		case trouble.Unreachable, trouble.NoSuchHost, trouble.TwoBrokers, trouble.BadCredentials:
			return err
		}
	}

	return nil
}

func rest(ready model.Opt[int64], n int64) model.Opt[int64] {
	if of, known := ready.Get(); known && of > n {
		return model.Some(of - n)
	}
	return model.Unknown[int64]()
}

// messages searches the messages of a queue, and returns how many it read and why not all.
func (s *Search) messages(ctx context.Context, q *Queue) (n int64, why string, err error) {
	longest := cmp.Or(s.want.Longest, longestRead)
	began := time.Now()
	want := s.want
	want.Filter = q.look.Filter(want.Filter)
	each := func(m *message.Message) error {
		if n == int64(s.want.Limit) { // there is one more
			why = model.Sayf("the first %v message(s) of the queue were read", s.want.Limit)
			return errEnough
		}

		n++
		if hit, ok := want.match(q.Ref, m); ok {
			s.found(hit)
		}

		s.reportProgress()
		if time.Since(began) > longest {
			why = "reading stopped after " + model.ShortDuration(longest)
			return errEnough
		}

		if s.result.Enough {
			why = model.Sayf("the search ended here, with %v message(s) found", s.want.Hits)
			return errEnough
		}

		return nil
	}

	if q.plan.Method == peek.Stream {
		peeked, err := s.looker.Peek(ctx, q.plan)
		if peeked.Messages == nil {
			return 0, "", err
		}
		defer peeked.Messages.Close()
		if err != nil {
			return 0, "", err
		}
		for i := range peeked.Messages.Len() {
			m, err := peeked.Messages.At(i, 0)
			if err != nil {
				return n, "", err
			}
			if each(&m) != nil {
				break
			}
		}

		return n, why, nil
	}

	read, err := s.looker.Read(ctx, q.plan, each)
	if read.Rescued.Any() {
		s.result.Rescued = append(s.result.Rescued, read.Rescued)
	}

	switch {
	case errors.Is(err, errEnough):
		return n, why, nil
	case err != nil:
		return n, "", err
	}

	return n, read.Stopped, nil
}

func (s *Search) read(q *Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Queues++
	s.progress.Now = q.Ref
}

func (s *Search) miss(ref model.QueueRef, messages model.Opt[int64], why string) {
	s.result.NotRead = append(s.result.NotRead, NotRead{ref, messages, why, false})
}

func (s *Search) found(hit Hit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits = append(s.hits, hit)
	s.progress.Hits++
	s.result.Enough = s.progress.Hits >= s.want.Hits
	s.signal()
}

func (s *Search) reportProgress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Read++
	if s.progress.Read%100 != 0 {
		return
	}
	if now := time.Now(); now.Sub(s.told) >= tellEvery {
		s.told, s.progress.Took = now, now.Sub(s.began)
		s.signal()
	}
}

func (s *Search) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

func (s *Search) signal() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Next waits for news, and returns the hits since the last call and the progress. more is false at the end: Run has
// ended, and all hits were returned, including those of this call.
func (s *Search) Next() (hits []Hit, progress Progress, more bool) {
	<-s.news
	s.mu.Lock()
	defer s.mu.Unlock()
	hits, s.hits = s.hits, nil
	progress = s.progress
	progress.Took = time.Since(s.began)
	return hits, progress, !s.ended
}
