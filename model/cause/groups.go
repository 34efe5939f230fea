package cause

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// mostCauses bounds how many causes are distinguished. A person reads tens of them; more arise from texts that vary in
// a way that Fold does not know.
const mostCauses = 5000

// Groups are the causes of the messages that were read, with their messages. Messages can be added page by page, and
// removed when they leave their queue. It is not safe for concurrent use.
//
// With more than 5,000 different causes, the most varied ones are made coarser: only the first words of their texts
// count, then only the type of the error. Group.Cause.Level says which are.
type Groups struct {
	groups  map[ID]*group
	coarser [NoKind + 1]map[ID]bool // by level: coarse causes that stand for exact ones
	queues  map[model.QueueRef]*queueMessages
	next    int // the position of the next group
	read    int
}

// queueMessages are the messages of one queue.
type queueMessages struct {
	members map[message.Fingerprint][]member // twins share an entry
	removed map[message.Fingerprint][]member // they may return
}

// member is one message. Each field costs 8 MB for a million of them.
type member struct {
	group       *group
	worker      string
	first, last int64  // ms since 1970; 0: unknown
	original    uint64 // what was published, regardless of its id; 0: unknown
}

// group is a cause with its messages.
type group struct {
	cause       Cause
	order       int
	into        *group // the coarser group that it was merged into
	messages    int
	queues      map[model.QueueRef]int
	workers     map[string]int
	first, last int64
	stale       bool // a message was removed that may have been the first or the last
	sample      Sample
	untold      bool // the sample comes from an index, without its text
}

// Sample is one message of a cause.
type Sample struct {
	Trace, Body string // their beginnings; the body printable on one line; "" like Text
	Text        string // the beginning of its error as written, not printable; "" when it was not read again
}

// mostSample is the maximum length of a sample's text, in bytes.
const mostSample = 500

// mostTrace is the maximum length of its stack trace, in bytes.
const mostTrace = 2000

// Group is a cause and how many messages failed for it.
type Group struct {
	ID          ID
	Cause       Cause
	Messages    int
	Different   int                     // of these, counting copies in several queues once
	Queues      []Count[model.QueueRef] // where they are, most first
	Workers     []Count[string]         // the queues in which they failed, as far as known, most first
	First, Last model.Opt[time.Time]    // the times, as far as known
	Sample      Sample
}

// Count is how many messages of a cause share a value.
type Count[T any] struct {
	Of       T
	Messages int
}

// NewGroups has no messages.
func NewGroups() *Groups {
	return &Groups{groups: map[ID]*group{}, queues: map[model.QueueRef]*queueMessages{}}
}

// Read returns how many messages are in the groups.
func (g *Groups) Read() int { return g.read }

// Add adds a message, with its whole body, that was read from a queue.
func (g *Groups) Add(queue model.QueueRef, m *message.Message) {
	read := readFailed(queue, m)
	first, last := m.Failed(read.Error)
	at := g.place(read.Cause)
	if at.messages == 0 || at.untold {
		text := read.Error.String()
		at.sample = Sample{
			Text:  message.WholeRunes(text, mostSample),
			Trace: strings.Clone(message.WholeRunes(m.FailureStack(read.Error), mostTrace)),
			Body:  strings.Clone(m.BodyPreview(mostSample)),
		}

		at.untold = false
	}

	g.put(queue, m.Fingerprint, member{
		group:    at,
		worker:   read.Worker,
		first:    milliseconds(first),
		last:     milliseconds(last),
		original: originalOf(m),
	})
}

// place returns the group into which a message of this cause goes.
func (g *Groups) place(c Cause) *group {
	at := g.find(c)
	if at == nil && len(g.groups) >= mostCauses {
		g.coarsen()
		at = g.find(c)
	}

	if at == nil {
		at = g.open(g.coarse(c))
	}

	return at
}

func (g *Groups) put(queue model.QueueRef, f message.Fingerprint, in member) {
	in.group.add(queue, in)
	q := g.queues[queue]
	if q == nil {
		q = &queueMessages{members: map[message.Fingerprint][]member{}}
		g.queues[queue] = q
	}

	q.members[f] = append(q.members[f], in)
	g.read++
}

func milliseconds(t model.Opt[time.Time]) int64 {
	if at, known := t.Get(); known {
		return at.UnixMilli()
	}
	return 0
}

// coarse returns the cause under which a cause is grouped.
func (g *Groups) coarse(c Cause) Cause {
	for level := NoKind; level > Whole; level-- {
		if len(g.coarser[level]) == 0 {
			continue
		}
		if at := c.At(level); g.coarser[level][at.ID()] {
			return at
		}
	}

	return c
}

func (g *Groups) find(c Cause) *group { return g.groups[g.coarse(c).ID()] }

func (g *Groups) open(c Cause) *group {
	opened := &group{cause: c, order: g.next, queues: map[model.QueueRef]int{}, workers: map[string]int{}}
	g.next++
	g.groups[c.ID()] = opened
	return opened
}

// coarsen makes room: it drops causes without messages, then merges the most varied ones.
func (g *Groups) coarsen() {
	const enough, many = mostCauses / 2, mostCauses / 20
	maps.DeleteFunc(g.groups, func(_ ID, at *group) bool { return at.messages == 0 })
	for level := FirstWords; level <= NoKind && len(g.groups) > enough; level++ {
		under := map[ID][]*group{}
		for _, at := range g.groups {
			if at.cause.Level < level {
				id := at.cause.At(level).ID()
				under[id] = append(under[id], at)
			}
		}

		for id, exact := range under {
			if len(exact) >= many || level == NoKind {
				g.merge(level, id, exact)
			}
		}
	}
}

// merge merges groups into one.
func (g *Groups) merge(level Level, id ID, exact []*group) {
	model.Put(&g.coarser[level], id, true)
	slices.SortFunc(exact, func(a, b *group) int { return cmp.Compare(a.order, b.order) })
	whole := g.open(exact[0].cause.At(level))
	whole.order = exact[0].order
	whole.sample = exact[0].sample
	whole.untold = exact[0].untold
	for _, at := range exact {
		delete(g.groups, at.cause.ID())
		at.into = whole
		whole.messages += at.messages
		whole.stale = whole.stale || at.stale
		whole.seen(at.first, at.last)
		for queue, n := range at.queues {
			whole.queues[queue] += n
		}
		for worker, n := range at.workers {
			whole.workers[worker] += n
		}

		at.queues, at.workers = nil, nil
	}
}

// current returns the group after merges.
func (at *group) current() *group {
	for at.into != nil {
		at = at.into
	}
	return at
}

func (at *group) add(queue model.QueueRef, in member) {
	at.messages++
	at.queues[queue]++
	if in.worker != "" {
		at.workers[in.worker]++
	}
	at.seen(in.first, in.last)
}

func (at *group) seen(first, last int64) {
	if first != 0 && (at.first == 0 || first < at.first) {
		at.first = first
	}
	at.last = max(at.last, last)
}

// Remove removes a message that left its queue; one of them if it has twins. It is false for an unknown message.
func (g *Groups) Remove(queue model.QueueRef, f message.Fingerprint) bool {
	q := g.queues[queue]
	if q == nil || len(q.members[f]) == 0 {
		return false
	}
	last := len(q.members[f]) - 1
	in := q.members[f][last]
	g.leave(queue, in)
	model.Put(&q.removed, f, append(q.removed[f], in))
	if q.members[f] = q.members[f][:last]; last == 0 {
		delete(q.members, f)
	}

	return true
}

// Return adds a removed message again. It is false for an unknown message.
func (g *Groups) Return(queue model.QueueRef, f message.Fingerprint) bool {
	q := g.queues[queue]
	if q == nil || len(q.removed[f]) == 0 {
		return false
	}
	last := len(q.removed[f]) - 1
	in := q.removed[f][last]
	q.removed[f] = q.removed[f][:last]
	in.group = g.place(in.group.current().cause)
	g.put(queue, f, in)
	return true
}

// Forget removes all messages of a queue, because it will be read again or no longer exists.
func (g *Groups) Forget(queue model.QueueRef) {
	q := g.queues[queue]
	if q == nil {
		return
	}
	for _, in := range q.each() {
		g.leave(queue, in)
	}

	delete(g.queues, queue)
}

func (g *Groups) leave(queue model.QueueRef, in member) {
	at := in.group.current()
	at.messages--
	g.read--
	at.stale = at.stale || in.first != 0 && in.first == at.first || in.last != 0 && in.last == at.last
	less(at.queues, queue)
	if in.worker != "" {
		less(at.workers, in.worker)
	}
}

func less[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] <= 0 {
		delete(counts, of)
	}
}

// List returns the causes that have messages, in the order of their first message: earlier ones stay in front of later
// ones, so that nothing moves under a cursor.
func (g *Groups) List() []Group {
	g.refresh()
	present := make([]*group, 0, len(g.groups))
	for _, at := range g.groups {
		if at.messages > 0 {
			present = append(present, at)
		}
	}

	slices.SortFunc(present, func(a, b *group) int { return cmp.Compare(a.order, b.order) })
	different := g.different(present)
	list := make([]Group, len(present))
	for i, at := range present {
		list[i] = Group{
			ID:        at.cause.ID(),
			Cause:     at.cause,
			Messages:  at.messages,
			Different: different[at],
			Sample:    at.sample,
			First:     timeOf(at.first),
			Last:      timeOf(at.last),
			Queues:    mostFirst(at.queues, func(q model.QueueRef) string { return q.String() }),
			Workers:   mostFirst(at.workers, func(w string) string { return w }),
		}
	}

	return list
}

// each iterates over every message of a queue, including twins.
func (q *queueMessages) each() iter.Seq2[message.Fingerprint, member] {
	return func(yield func(message.Fingerprint, member) bool) {
		for fingerprint, twins := range q.members {
			for _, in := range twins {
				if !yield(fingerprint, in) {
					return
				}
			}
		}
	}
}

// WorkerNames returns the workers whose messages failed: as the messages say, or else those whose failures go to their
// queues.
func (g *Group) WorkerNames(t *model.Topology) []string {
	var all []string
	for _, w := range g.Workers {
		all = append(all, t.FailedAt(g.Queues[0].Of.Beside(w.Of))...)
	}

	if len(all) == 0 {
		for _, in := range g.Queues {
			all = append(all, t.WorkersOf(in.Of)...)
		}
	}

	names := []string{}
	for _, name := range all {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	return names
}

// WorkerWords returns the workers for people, each printable, with a word where there is no such queue any more.
func (g *Group) WorkerWords(t *model.Topology) []string {
	names := g.WorkerNames(t)
	for i, name := range names {
		names[i] = model.Printable(name)
		_, exists := t.Queues[g.Queues[0].Of.Beside(name)]
		if !exists && !strings.Contains(name, "/") { // that is one of another vhost
			names[i] += " (gone)"
		}
	}

	return names
}

// WorkersOf returns the workers in which a message of a queue may have failed, as WorkerNames does for its cause.
func WorkersOf(t *model.Topology, in model.QueueRef, m *message.Message) []string {
	of := Group{Queues: []Count[model.QueueRef]{{Of: in}}}
	if worker := workerOf(in, m); worker != "" {
		of.Workers = []Count[string]{{Of: worker}}
	}
	return of.WorkerNames(t)
}

// Oldest returns when the message of a queue that failed longest ago did so last, as far as known.
func (g *Groups) Oldest(queue model.QueueRef) model.Opt[time.Time] {
	q, oldest := g.queues[queue], int64(0)
	if q == nil {
		return timeOf(0)
	}
	for _, in := range q.each() {
		if in.last > 0 && (oldest == 0 || in.last < oldest) {
			oldest = in.last
		}
	}

	return timeOf(oldest)
}

// MostFirst sorts causes by their number of messages; equal ones keep their order.
func MostFirst(list []Group) {
	slices.SortStableFunc(list, func(a, b Group) int { return cmp.Compare(b.Messages, a.Messages) })
}

// refresh finds the first and the last message of causes that may have lost theirs.
func (g *Groups) refresh() {
	any := false
	for _, at := range g.groups {
		if at.stale {
			at.first, at.last, any = 0, 0, true
		}
	}

	if !any {
		return
	}
	for _, q := range g.queues {
		for _, in := range q.each() {
			if at := in.group.current(); at.stale {
				at.seen(in.first, in.last)
			}
		}
	}

	for _, at := range g.groups {
		at.stale = false
	}
}

func timeOf(ms int64) model.Opt[time.Time] {
	if ms == 0 {
		return model.Opt[time.Time]{}
	}
	return model.Some(time.UnixMilli(ms).UTC())
}

func mostFirst[T comparable](counts map[T]int, name func(T) string) []Count[T] {
	list := make([]Count[T], 0, len(counts))
	for of, n := range counts {
		list = append(list, Count[T]{of, n})
	}

	slices.SortFunc(list, func(a, b Count[T]) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(name(a.Of), name(b.Of)))
	})
	return list
}
