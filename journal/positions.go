package journal

import "github.com/dlxtop/dlxtop/model/plan"

// positions keeps a number for each position of a record in four bytes: a record may have millions. 0 is none. It is
// paged, because a position damaged on disk must not fill the memory.
type positions map[int]*[1 << pageBits]int32

const pageBits = 8

func (p positions) set(position int, n int32) {
	page := p[position>>pageBits]
	if page == nil {
		page = new([1 << pageBits]int32)
		p[position>>pageBits] = page
	}
	page[position&(1<<pageBits-1)] = n
}

func (p positions) get(position int) int32 {
	if page := p[position>>pageBits]; page != nil {
		return page[position&(1<<pageBits-1)]
	}
	return 0
}

// outcomes are the outcomes of a record's entries.
type outcomes struct {
	kinds []plan.Settled // without positions
	of    positions      // the index in kinds, from 1
}

// at returns the outcome of an entry, and whether it has one.
func (o *outcomes) at(position int) (plan.Settled, bool) {
	n := o.of.get(position)
	if n == 0 {
		return plan.Settled{}, false
	}
	return o.kinds[n-1], true
}

// each calls f with the outcome of each entry that has one.
func (o *outcomes) each(f func(plan.Outcome)) {
	for _, page := range o.of {
		for _, n := range page {
			if n > 0 {
				f(o.kinds[n-1].Outcome)
			}
		}
	}
}
