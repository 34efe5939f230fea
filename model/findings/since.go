package findings

import (
	"maps"
	"time"
)

// Identity is what makes a finding the same from one poll to the next.
type Identity struct{ Code, VHost, Queue, Exchange, Node string }

// Identity tells the finding from all others.
func (f Finding) Identity() Identity { return Identity{f.Code, f.VHost, f.Queue, f.Exchange, f.Node} }

// Memory is since when findings are there. It is never changed: Mark returns the next one.
type Memory map[Identity]remembered

type remembered struct{ first, last time.Time }

// forgetAfter is for how long a finding may be missing and still be the same: what statistics tell comes and goes, and
// they are left out for a while after a look.
const forgetAfter = 30 * time.Second

// Mark dates the findings of a poll: each has been there since it was seen first.
func (m Memory) Mark(found []Finding, at time.Time) Memory {
	next := maps.Clone(m)
	if next == nil {
		next = Memory{}
	}
	maps.DeleteFunc(next, func(_ Identity, r remembered) bool { return at.Sub(r.last) > forgetAfter })
	for i := range found {
		f := &found[i]
		r, known := next[f.Identity()]
		if !known {
			r.first = at
		}
		next[f.Identity()] = remembered{r.first, at}
		f.Since = r.first
	}
	return next
}
