package find

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/around"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

type Want struct {
	Filter   *filter.Filter
	Has      func(model.QueueRef, *message.Message) bool // the condition, instead of Filter; nil: Filter decides
	Queue    func(model.QueueRef) bool                   // whether to search a queue; nil: all of them
	Limit    int                                         // messages of each queue at most, from its head
	Hits     int                                         // end the search after this many
	Longest  time.Duration                               // how long the messages of a queue may be held; 0 is 30 s
	Costly   bool                                        // also read queues where peeking has a cost
	Kept     func(model.QueueRef) bool                   // whether such messages are stored already; nil: never
	ReadOnly bool                                        // the connection is read-only
	Replayed func() around.Replayed                      // what was replayed earlier; nil: unknown
}

type Queue struct {
	Ref    model.QueueRef
	Ready  model.Opt[int64] // from the statistics, which lag
	plan   peek.Plan
	look   around.Look
	why    string // why it is not read; "" when it is
	costly bool   // only the cost of peeking keeps it from being read
	empty  bool   // by the statistics
	order  int    // rank of its kind
}

// Skipped returns why a queue is not read, in one sentence; "" when it is.
func (q *Queue) Skipped() string { return q.why }

// Skipped returns the queues with messages that a search will not read, as far as known beforehand.
func Skipped(queues []Queue) []NotRead {
	var skipped []NotRead
	for q := range model.Each(queues) {
		if q.why != "" && !q.empty {
			skipped = append(skipped, NotRead{q.Ref, q.Ready, q.why, q.costly})
		}
	}

	return skipped
}

// The order in which queues are read: what is searched for is mostly where messages wait.
const (
	failedFirst = iota
	thenBuffers
	thenOthers
)

// Queues returns the queues of a search in order: failed queues, then buffers, then all others.
func Queues(t *model.Topology, want Want) []Queue {
	var queues []Queue
	for q := range t.EachQueue() {
		if want.Queue != nil && !want.Queue(q.QueueRef) {
			continue
		}
		one := Queue{Ref: q.QueueRef, Ready: q.Ready, order: thenOthers}
		one.look = around.Look{Topology: t, Queue: q.QueueRef, Replayed: want.Replayed}
		switch {
		case t.IsFailed(q.QueueRef):
			one.order = failedFirst
		case t.IsBuffer(q.QueueRef):
			one.order = thenBuffers
		}

		look := peek.Want{Limit: want.Limit, ReadOnly: want.ReadOnly, Whole: true}
		one.plan = peek.For(t, q.QueueRef, look)
		one.plan.Nameless = !one.plan.Counts // what is kept is compared later
		one.empty = q.Type != model.Stream && q.Ready.Known() && q.Ready.Or(0) == 0
		switch {
		case one.empty && !one.plan.Allowed():
			continue
		case !one.plan.Allowed():
			one.why = one.plan.Refusal.Words()
		case !one.plan.Free && !want.Costly && (want.Kept == nil || !want.Kept(q.QueueRef)):
			one.why = "a look has a cost: " + one.plan.Cost
			one.costly = true
		}

		queues = append(queues, one)
	}

	slices.SortStableFunc(queues, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Ref.VHost, b.Ref.VHost),
			cmp.Compare(a.Ref.Name, b.Ref.Name))
	})

	return queues
}

// Reason is why some queues were not read, or not to their end.
type Reason struct {
	Why      string
	Queues   []model.QueueRef
	Messages model.Opt[int64] // in all of them; unknown when it is for one of them
	Costly   bool             // only the cost of peeking is against it
}

// Reasons groups what was not read by reason, in the order of the first queue of each.
func Reasons(missed []NotRead) []Reason {
	var all []Reason
	at := map[string]int{}
	for _, n := range missed {
		i, known := at[n.Why]
		if !known {
			i = len(all)
			at[n.Why] = i
			all = append(all, Reason{Why: n.Why, Messages: model.Some[int64](0), Costly: n.Costly})
		}

		r := &all[i]
		r.Queues = append(r.Queues, n.Queue)
		if sum, known := r.Messages.Get(); known && n.Messages.Known() {
			r.Messages = model.Some(sum + n.Messages.Or(0))
		} else {
			r.Messages = model.Unknown[int64]()
		}
	}

	return all
}

// Words returns "12 messages of orders and 3 more queues: a look has a cost: …". They are not printable.
func (r *Reason) Words() string {
	const named = 3
	var names []string
	for _, q := range r.Queues[:min(named, len(r.Queues))] {
		names = append(names, q.String())
	}

	words := strings.Join(names, ", ")
	if more := len(r.Queues) - named; more > 0 {
		words += model.Sayf(" and %v more queue(s)", more)
	}
	if n, known := r.Messages.Get(); known {
		words = model.Sayf("%v message(s) of %s", n, words)
	}

	return words + ": " + r.Why
}
