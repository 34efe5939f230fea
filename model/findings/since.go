package findings

import "time"

// Identity is what makes a finding the same from one poll to the next.
type Identity struct{ Code, VHost, Queue, Exchange, Node string }

// Identity tells the finding from all others.
func (f Finding) Identity() Identity { return Identity{f.Code, f.VHost, f.Queue, f.Exchange, f.Node} }

// Memory is since when findings are there. It is never changed: Mark returns the next one.
type Memory map[Identity]remembered

// remembered is when a finding was seen first, and since which poll it is missing: zero while it is there.
type remembered struct{ first, missing time.Time }

// forgetAfter is for how long a finding may be missing and still be the same: what statistics tell comes and goes, and
// they are left out for a while after a look.
const forgetAfter = 30 * time.Second

// isGone reports whether a finding that is there again would be another one.
func (r remembered) isGone(at time.Time) bool {
	return !r.missing.IsZero() && at.Sub(r.missing) > forgetAfter
}

// Mark dates the findings of a poll: each has been there since it was seen first.
func (m Memory) Mark(found []Finding, at time.Time) Memory {
	next := make(Memory, len(found))
	for i := range found {
		f := &found[i]
		r, known := m[f.Identity()]
		if !known || r.isGone(at) {
			r.first = at
		}
		next[f.Identity()] = remembered{first: r.first}
		f.Since = r.first
	}
	for identity, r := range m {
		if _, there := next[identity]; there || r.isGone(at) {
			continue
		}
		if r.missing.IsZero() {
			r.missing = at
		}
		next[identity] = r
	}
	return next
}
