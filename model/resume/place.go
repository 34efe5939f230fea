package resume

import (
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// place works out which originals are still in the source. Acknowledgements follow the order of publishing, so the
// missing ones are the first of those that have arrived, and what is left at the head of the source shows how many. No
// such answer fits where messages are there that would be acknowledged.
// Twins may allow several answers; the outcome of the messages that make the difference then stays open.
func (f *resumption) place(seen []sighting) {
	times, inSource := f.counts(seen)
	var possible []int
	there := 0 // of those that would be acknowledged
	for k := range len(f.pending) + 1 {
		if k > 0 {
			p := f.pending[k-1]
			if p.arrived == no {
				continue
			}
			n := times[p.original]
			if inSource[p.original] == n && (n == 1 || p.id != "") { // all that are the same are there
				if there++; p.id != "" || there > byChance {
					break
				}
			}
		}

		if f.fits(seen, k) {
			possible = append(possible, k)
		}
	}

	if len(possible) == 0 {
		f.placeByCount(times, inSource)
		return
	}

	all := f.intent != nil && f.intent.Selection.All() // otherwise what else is there says nothing
	for _, unlikely := range []func(int) bool{f.exceeds, func(k int) bool { return f.scattered(seen, k) }} {
		if fewer := slices.DeleteFunc(slices.Clone(possible), unlikely); all && len(fewer) > 0 {
			possible = fewer
		}
	}

	first := possible[0]
	last := f.lastByTwins(possible, times, inSource)
	for i, p := range f.pending {
		switch {
		case i >= last || p.arrived == no:
			p.there = yes
		case i < first:
			p.there = no
		}
	}
}

// left returns the messages that would be at the head of the source if the first k of those that have arrived were
// acknowledged.
func (f *resumption) left(k int) (left []item) {
	acknowledged := map[*pending]bool{}
	for _, p := range f.pending[:k] {
		acknowledged[p] = p.arrived != no
	}

	for _, i := range f.items {
		if i.pending == nil || !acknowledged[i.pending] {
			left = append(left, i)
		}
	}

	return left
}

// fits reports whether the source looks as if the first k were acknowledged.
func (f *resumption) fits(seen []sighting, k int) bool {
	for at, i := range f.left(k) {
		if at == len(seen) || seen[at].fingerprint != i.fingerprint {
			return false
		}
	}

	return true
}

// counts are how many messages of the records have the same original, and how many of each are in the source.
func (f *resumption) counts(seen []sighting) (times, inSource message.Twins) {
	times, inSource = maps.Clone(f.certain.originals), message.Twins{}
	for _, p := range f.pending {
		times[p.original]++
	}

	for _, s := range seen {
		inSource[s.fingerprint]++
	}

	return times, inSource
}

// exceeds reports whether the source has fewer messages than would be left if the first k were acknowledged. The record
// acts on everything: so the messages still to do are there, too.
func (f *resumption) exceeds(k int) bool {
	untouched := f.intent.Depth - int64(f.certain.acted+len(f.pending))
	return int64(len(f.left(k)))+untouched > f.depth
}

// scattered reports whether other messages are ahead of what would be left if the first k were acknowledged. When the
// record acts on everything, there are none: it began at the head.
func (f *resumption) scattered(seen []sighting, k int) bool {
	for at := range f.left(k) {
		if seen[at].position != int64(at+1) {
			return true
		}
	}

	return false
}

// byChance is how many messages in a row may have indistinguishable twins.
const byChance = 3

// lastByTwins is the highest possible answer. It exceeds the first only if messages in the source may be twins of
// missing ones: those have other twins, or they have no message_id and are few.
func (f *resumption) lastByTwins(possible []int, times, inSource message.Twins) int {
	first, last := possible[0], possible[0]
	for _, k := range possible[1:] {
		for _, p := range f.pending[last:k] {
			if p.arrived != no && times[p.original] < 2 && inSource[p.original] < 2 && (p.id != "" || k-first > byChance) {
				return last
			}
		}
		last = k
	}

	return last
}

// placeByCount decides by how many of each message there are: the order of the source has changed, or a classic queue
// forgot some acknowledgements when its node was killed. What is there is the original if no other message is the same,
// or if all that are the same are there, too.
func (f *resumption) placeByCount(times, there message.Twins) {
	for _, p := range f.pending {
		n := there[p.original]
		switch {
		case n == 0, n == f.certain.stay[p.original] && p.arrived != no && !f.leaves():
			p.there = no
		case p.arrived == no, n == times[p.original] && p.id != "":
			p.there = yes
		}
	}
}
