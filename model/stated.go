package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model/wildcard"
)

// The roles that only a user can state: nothing shows that messages are kept on purpose, or that a queue is of no
// interest.
const (
	ParkedRole  Role = "parked"  // what failed was looked at, and is kept on purpose: it counts apart from failed messages
	IgnoredRole Role = "ignored" // the queue takes no part in anything
)

// Stateable are the roles that a user can state for a queue.
var Stateable = []Role{DelayedBuffer, RetryBuffer, WorkerRole, FailedRole, ParkedRole, IgnoredRole}

// StatedRole is the role that a user states for the queues with a name.
type StatedRole struct {
	Pattern string // a name, or VHOST/NAME; * and ? make it a pattern
	Role    Role
	Context bool // for one broker alone, and so stronger than for all
}

// IsName reports whether it is for one queue.
func (s *StatedRole) IsName() bool { return !strings.ContainsAny(s.Pattern, "*?") }

// Matches reports whether it is for a queue.
func (s *StatedRole) Matches(ref QueueRef) bool {
	whole := ref.VHost + "/" + ref.Name
	if s.IsName() {
		return s.Pattern == ref.Name || s.Pattern == whole
	}
	return wildcard.Glob(s.Pattern, ref.Name) || wildcard.Glob(s.Pattern, whole)
}

// describe returns the reason of a role that is stated.
func (s *StatedRole) describe() string {
	return Sayf("stated in the configuration (%v = %s)", Quoted(s.Pattern), Quoted(string(s.Role)))
}

// StatedRoles are the roles that a user states, strongest first.
type StatedRoles []StatedRole

// NewStatedRoles orders roles: those of the context first, then names before patterns, then the longest.
func NewStatedRoles(all []StatedRole) StatedRoles {
	rank := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}

	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b StatedRole) int {
		return cmp.Or(cmp.Compare(rank(a.Context), rank(b.Context)), cmp.Compare(rank(a.IsName()), rank(b.IsName())),
			cmp.Compare(len(b.Pattern), len(a.Pattern)), cmp.Compare(a.Pattern, b.Pattern))
	})

	return sorted
}

// Of returns the roles that are stated for a queue, strongest first.
func (s StatedRoles) Of(ref QueueRef) (own []StatedRole) {
	for i := range s {
		if s[i].Matches(ref) {
			own = append(own, s[i])
		}
	}

	return own
}

// StatedRole returns the role that a user states for a queue.
func (t *Topology) StatedRole(ref QueueRef) (StatedRole, bool) {
	s, ok := t.stated[ref]
	return s, ok
}

// findStated finds the role that is stated for each queue.
func (t *Topology) findStated() map[QueueRef]StatedRole {
	stated := map[QueueRef]StatedRole{}
	if len(t.Snapshot.Stated) == 0 {
		return stated
	}
	for q := range t.EachQueue() {
		if own := t.Snapshot.Stated.Of(q.QueueRef); len(own) > 0 {
			stated[q.QueueRef] = own[0]
		}
	}

	return stated
}

// Abandoned returns the queues in which messages end without anything that says why, by vhost and name: no consumers,
// no dead-letter exchange, no TTL, no flow, no name for failures. An application may itself put its failures there.
func (t *Topology) Abandoned() (refs []QueueRef) {
	for q := range t.EachQueue() {
		ref := q.QueueRef
		ends := q.Type != Stream && !q.sets("message-ttl") && !q.sets("dead-letter-exchange")
		idle := q.Applications() == Some[int64](0) && !q.Polled() && !t.Worked(ref)
		_, stated := t.StatedRole(ref)
		explained := stated || t.failed[ref] || len(t.FlowsOf(ref)) > 0
		if q.Ready.Or(0) > 0 && ends && idle && !explained {
			refs = append(refs, ref)
		}
	}

	return sorted(refs)
}

// ParkedQueues returns all queues that are stated as parked, sorted by vhost and name.
func (t *Topology) ParkedQueues() (refs []QueueRef) {
	for ref, s := range t.stated {
		if s.Role == ParkedRole {
			refs = append(refs, ref)
		}
	}
	return sorted(refs)
}

// Parked returns how many messages wait in parked queues, as far as known.
func (t *Topology) Parked() (messages int64) {
	for _, ref := range t.ParkedQueues() {
		messages += t.Known(ref).Ready.Or(0)
	}

	return messages
}

// ParkedWithoutFlow returns the parked queues that belong to no flow, sorted by vhost and name.
func (t *Topology) ParkedWithoutFlow() []Member { return t.parkedAlone }

// statedWaits reports whether a user states a role of a queue, and whether messages wait in queues of that role.
func (r *roles) statedWaits(ref QueueRef) (waits, known bool) {
	s, known := r.t.stated[ref]
	return s.Role == DelayedBuffer || s.Role == RetryBuffer, known
}

// isStated reports whether one of these roles is stated for a queue.
func (r *roles) isStated(ref QueueRef, as ...Role) bool {
	s, ok := r.t.stated[ref]
	return ok && slices.Contains(as, s.Role)
}

// takesNoWork reports whether a user states something else of a queue than that it is a worker.
func (r *roles) takesNoWork(ref QueueRef) bool {
	s, ok := r.t.stated[ref]
	return ok && s.Role != WorkerRole
}

// addStated adds what evidence alone would not: workers, and buffers that lead to no queue, which belong to the workers
// of their name.
func (b *flowBuilder) addStated() {
	for ref, s := range b.t.stated {
		waits, _ := b.statedWaits(ref)
		switch {
		case s.Role == WorkerRole:
			f := b.of(ref, s.describe())
			f.Worker.Reason = s.describe() + b.consumersWords(ref)
		case waits && len(b.leads.workers[ref]) == 0:
			workers := Without(b.named[namesake{ref.VHost, b.heard[ref].base}], func(w QueueRef) bool {
				return w == ref || b.isBuffer(w) || b.takesNoWork(w) || b.heard[w].failed != ""
			})
			b.add(b.bufferOf(ref, nil), s.describe(), "has a buffer of the same name: ", workers,
				func(*Buffer, QueueRef) (Role, string) { return s.Role, "named after it" })
		}
	}
}
