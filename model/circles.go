package model

import "slices"

// leads works out for every buffer which other queues its messages reach in the end, and finds circles of buffers. It
// visits each buffer once (Tarjan's strongly connected components), however long a chain is.
type leads struct {
	r       *roles
	workers map[QueueRef][]QueueRef
	circles [][]QueueRef // of two or more buffers, with no way out

	index, low map[QueueRef]int
	open       []QueueRef
	isOpen     map[QueueRef]bool
}

func newLeads(r *roles) *leads {
	l := &leads{
		r:       r,
		workers: make(map[QueueRef][]QueueRef, len(r.buffer)),
		index:   make(map[QueueRef]int, len(r.buffer)),
		low:     make(map[QueueRef]int, len(r.buffer)),
		isOpen:  map[QueueRef]bool{},
	}

	for q := range r.t.EachQueue() {
		if r.isBuffer(q.QueueRef) && l.index[q.QueueRef] == 0 {
			l.visit(q.QueueRef)
		}
	}

	return l
}

func (l *leads) visit(ref QueueRef) {
	l.index[ref] = len(l.index) + 1
	l.low[ref] = l.index[ref]
	l.open = append(l.open, ref)
	l.isOpen[ref] = true
	for _, next := range l.r.narrowed(ref, Expired) {
		if !l.r.isBuffer(next) {
			continue
		}
		if l.index[next] == 0 {
			l.visit(next)
			l.low[ref] = min(l.low[ref], l.low[next])
		} else if l.isOpen[next] {
			l.low[ref] = min(l.low[ref], l.index[next])
		}
	}

	if l.low[ref] != l.index[ref] {
		return
	}
	at := slices.Index(l.open, ref)
	members := slices.Clone(l.open[at:])
	l.open = l.open[:at]
	for _, m := range members {
		l.isOpen[m] = false
	}

	l.close(members)
}

// close collects the workers of buffers that lead to each other. The workers behind other buffers are known already.
func (l *leads) close(members []QueueRef) {
	var found []QueueRef
	merged := map[*QueueRef]bool{} // lists are shared: the key is the address of the first element
	add := func(refs []QueueRef) {
		if len(refs) > 0 && !merged[&refs[0]] {
			merged[&refs[0]] = true
			found = UnionOf(found, refs)
		}
	}

	for _, m := range members {
		var direct []QueueRef
		for _, next := range l.r.narrowed(m, Expired) {
			if l.r.isBuffer(next) {
				add(l.workers[next])
			} else {
				direct = append(direct, next)
			}
		}

		add(direct)
	}

	for _, m := range members {
		l.workers[m] = found
	}
	if len(found) == 0 && len(members) > 1 {
		l.circles = append(l.circles, members)
	}
}

// UnionOf returns the union of two sorted lists. It returns one of them unchanged when that contains the other.
func UnionOf(a, b []QueueRef) []QueueRef {
	if len(a) < len(b) {
		a, b = b, a
	}

	missing := Without(b, func(ref QueueRef) bool {
		_, has := slices.BinarySearchFunc(a, ref, compareRefs)
		return has
	})
	if len(missing) == 0 {
		return a
	}

	return sorted(append(slices.Clip(a), missing...))
}
