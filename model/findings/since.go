package findings

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Identity identifies a finding from one poll to the next.
type Identity struct{ Code, VHost, Queue, Exchange, Node string }

func (f Finding) Identity() Identity { return Identity{f.Code, f.VHost, f.Queue, f.Exchange, f.Node} }

// Memory is when each finding was first seen. It is immutable: Mark returns the next one.
type Memory map[Identity]remembered

// remembered is when a finding was first seen, and since which poll it is missing: zero while it is present.
type remembered struct{ first, missing time.Time }

// forgetAfter is how long a finding may be missing and still count as the same: statistics fluctuate, and are left out
// for a while after a peek.
const forgetAfter = 30 * time.Second

// isGone reports whether a finding that reappears would be a new one.
func (r remembered) isGone(at time.Time) bool {
	return !r.missing.IsZero() && at.Sub(r.missing) > forgetAfter
}

// Mark dates the findings of a poll by when each was first seen.
func (m Memory) Mark(found []Finding, at time.Time) Memory {
	next := make(Memory, len(found))
	for f := range model.Each(found) {
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
