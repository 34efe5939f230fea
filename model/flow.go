package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Role is the part that a queue plays in a flow.
type Role string

// The roles.
const (
	DelayedBuffer Role = "delayed" // a buffer that publishers fill on purpose
	RetryBuffer   Role = "retry"   // a buffer that failures of a worker fill
	WorkerRole    Role = "worker"
	FailedRole    Role = "failed"
)

// Flow is one worker with its buffers, its failed queues and the exchanges between them. It is named after the worker.
type Flow struct {
	Name    string
	VHost   string
	Worker  Member
	Buffers []Buffer
	Failed  []Member
}

// Member is a queue's membership in a flow, with the reason for it.
type Member struct {
	Queue  QueueRef
	Reason string
}

// Buffer is a queue of a flow whose messages wait.
type Buffer struct {
	Member
	Role      Role
	TTL       Opt[time.Duration] // the queue's effective message TTL; unknown when each message brings its own
	TTLSource Source             // of the TTL; FromMessage when each message brings its own
	DLX       string
	DLXSource Source
	Key       Opt[string] // dead-letter routing key; unknown when the messages' own keys are used
	Targets   []QueueRef  // the queues that receive what expires
}

// Queues are all queues of the flow: buffers, worker, failed.
func (f *Flow) Queues() []QueueRef {
	refs := make([]QueueRef, 0, len(f.Buffers)+1+len(f.Failed))
	for _, b := range f.Buffers {
		refs = append(refs, b.Queue)
	}
	refs = append(refs, f.Worker.Queue)
	for _, m := range f.Failed {
		refs = append(refs, m.Queue)
	}
	return refs
}

// Role is the part that a queue plays in this flow, "" when it is not part of it.
func (f *Flow) Role(ref QueueRef) Role {
	if f.Worker.Queue == ref {
		return WorkerRole
	}
	for _, b := range f.Buffers {
		if b.Queue == ref {
			return b.Role
		}
	}
	for _, m := range f.Failed {
		if m.Queue == ref {
			return FailedRole
		}
	}
	return ""
}

// findFlows finds every worker that has buffers or failed queues.
func findFlows(t *Topology) []Flow {
	r := findRoles(t)
	building := map[QueueRef]*Flow{}
	of := func(worker QueueRef, reason string) *Flow {
		f := building[worker]
		if f == nil {
			f = &Flow{Name: worker.Name, VHost: worker.VHost, Worker: Member{worker, reason}}
			building[worker] = f
		}
		return f
	}
	for i := range t.Snapshot.Queues {
		ref := t.Snapshot.Queues[i].QueueRef
		why, isBuffer := r.buffer[ref]
		if !isBuffer {
			continue
		}
		for _, worker := range r.workersBehind(ref) {
			f := of(worker, fmt.Sprintf("receives what expires in %s%s", Printable(ref.Name), consumersWords(t, worker)))
			f.Buffers = append(f.Buffers, r.member(ref, worker, why))
		}
	}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if _, isBuffer := r.buffer[q.QueueRef]; isBuffer || building[q.QueueRef] == nil && q.Consumers.Or(0) == 0 && !r.leadsToFailed(t.rejectedTargets(q.QueueRef)) {
			continue
		}
		for _, failed := range r.failedBehind(q.QueueRef) {
			f := of(q.QueueRef, "dead-letters what it rejects to "+Printable(failed.Queue.Name)+consumersWords(t, q.QueueRef))
			f.Failed = append(f.Failed, failed)
		}
	}
	r.addFailedByName(building, of)
	flows := make([]Flow, 0, len(building))
	for _, f := range building {
		slices.SortFunc(f.Buffers, func(a, b Buffer) int {
			if c := cmp.Compare(a.TTL.Or(0), b.TTL.Or(0)); c != 0 {
				return c
			}
			return cmp.Compare(a.Queue.Name, b.Queue.Name)
		})
		slices.SortFunc(f.Failed, func(a, b Member) int { return cmp.Compare(a.Queue.Name, b.Queue.Name) })
		flows = append(flows, *f)
	}
	slices.SortFunc(flows, func(a, b Flow) int {
		if c := cmp.Compare(a.VHost, b.VHost); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return flows
}

func consumersWords(t *Topology, ref QueueRef) string {
	switch n, known := t.queues[ref].Consumers.Get(); {
	case !known:
		return ""
	case n == 0:
		return ", and has no consumers"
	case n == 1:
		return ", and has 1 consumer"
	default:
		return fmt.Sprintf(", and has %d consumers", n)
	}
}

// workersBehind follows what expires in a buffer, through further buffers, to the queues that are none.
func (r *roles) workersBehind(buffer QueueRef) []QueueRef {
	var workers []QueueRef
	seen := map[QueueRef]bool{buffer: true}
	todo := []QueueRef{buffer}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, next := range r.t.expiredTargets(at) {
			if seen[next] {
				continue
			}
			seen[next] = true
			if _, isBuffer := r.buffer[next]; isBuffer {
				todo = append(todo, next)
			} else {
				workers = append(workers, next)
			}
		}
	}
	return workers
}

func (r *roles) member(buffer, worker QueueRef, why string) Buffer {
	s := r.t.settings[buffer]
	role, roleReason := r.bufferRole(buffer, worker)
	b := Buffer{
		Member:    Member{buffer, why + "; " + string(role) + ": " + roleReason},
		Role:      role,
		TTLSource: Source{Kind: FromMessage},
		DLX:       s.DLX.Value,
		DLXSource: s.DLX.Source,
		Targets:   r.t.expiredTargets(buffer),
	}
	if s.TTL.Set {
		b.TTL, b.TTLSource = Some(s.TTL.Value), s.TTL.Source
	}
	if s.Key.Set {
		b.Key = Some(s.Key.Value)
	}
	return b
}

func (t *Topology) rejectedTargets(ref QueueRef) []QueueRef {
	for _, hop := range t.hops[ref] {
		if hop.Reason == Rejected {
			return hop.Route.Queues
		}
	}
	return nil
}

// failedBehind are the queues that a worker's own dead letters reach and that are no buffers.
func (r *roles) failedBehind(worker QueueRef) []Member {
	var failed []Member
	for _, ref := range r.t.rejectedTargets(worker) {
		if _, isBuffer := r.buffer[ref]; !isBuffer && ref != worker {
			failed = append(failed, Member{ref, "what " + Printable(worker.Name) + " rejects ends here"})
		}
	}
	return failed
}

// addFailedByName finds failed queues that an application fills by itself: structure does not tie them to a worker, but they
// are consumed by nobody, lead nowhere, and are named like the worker or one of its buffers.
func (r *roles) addFailedByName(building map[QueueRef]*Flow, of func(QueueRef, string) *Flow) {
	type place struct{ vhost, base string }
	workers := map[place][]QueueRef{}
	inFlow := map[QueueRef]bool{}
	for _, f := range building {
		for _, ref := range f.Queues() {
			inFlow[ref] = true
		}
	}
	for i := range r.t.Snapshot.Queues {
		q := &r.t.Snapshot.Queues[i]
		says := r.heard[q.QueueRef]
		_, isBuffer := r.buffer[q.QueueRef]
		if building[q.QueueRef] != nil || !isBuffer && q.Consumers.Or(0) > 0 && says.failed == "" {
			at := place{q.VHost, says.base}
			workers[at] = append(workers[at], q.QueueRef)
		}
	}
	for i := range r.t.Snapshot.Queues {
		q := &r.t.Snapshot.Queues[i]
		says := r.heard[q.QueueRef]
		if says.failed == "" || inFlow[q.QueueRef] || q.Consumers.Or(0) > 0 || r.t.settings[q.QueueRef].DLX.Set || q.Type == Stream {
			continue
		}
		for _, worker := range workers[place{q.VHost, says.base}] {
			f := of(worker, "has a failed queue of the same name"+consumersWords(r.t, worker))
			f.Failed = append(f.Failed, Member{
				q.QueueRef,
				fmt.Sprintf("nothing consumes it, it leads nowhere, its name says %q and is else that of %s", says.failed, Printable(worker.Name)),
			})
		}
	}
}

func indexFlows(flows []Flow) map[QueueRef][]*Flow {
	index := map[QueueRef][]*Flow{}
	add := func(ref QueueRef, f *Flow) {
		if !slices.Contains(index[ref], f) {
			index[ref] = append(index[ref], f)
		}
	}
	for i := range flows {
		add(flows[i].Worker.Queue, &flows[i])
	}
	for i := range flows {
		for _, b := range flows[i].Buffers {
			add(b.Queue, &flows[i])
		}
	}
	for i := range flows {
		for _, m := range flows[i].Failed {
			add(m.Queue, &flows[i])
		}
	}
	return index
}
