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
	times, inSource := f.times(), counted(seen)
	var possible []int
	there := 0 // of those that would be acknowledged
	for k := range len(f.pending) + 1 {
		if k > 0 {
			p := f.pending[k-1]
			if p.arrived == no {
				continue
			}
			if times[p.original] == 1 && inSource[p.original] == 1 {
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
		f.placeByCount(seen)
		return
	}
	for _, unlikely := range []func(int) bool{f.exceeds, func(k int) bool { return f.scattered(seen, k) }} {
		if fewer := slices.DeleteFunc(slices.Clone(possible), unlikely); len(fewer) > 0 {
			possible = fewer
		}
	}
	first, last := possible[0], f.lastByTwins(possible, seen)
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

// times is how many messages of the records have the same original.
func (f *resumption) times() map[message.Fingerprint]int {
	times := maps.Clone(f.certain.originals)
	for _, p := range f.pending {
		times[p.original]++
	}
	return times
}

func counted(seen []sighting) map[message.Fingerprint]int {
	count := map[message.Fingerprint]int{}
	for _, s := range seen {
		count[s.fingerprint]++
	}
	return count
}

// exceeds reports whether the source has fewer messages than would be left if the first k were acknowledged. It can
// only decide that when the record acts on everything: then the messages still to do are there, too.
func (f *resumption) exceeds(k int) bool {
	if f.intent == nil || !f.intent.Selection.All() {
		return false
	}
	left := f.certain.stays() + len(f.pending) - k
	for _, p := range f.pending[:k] {
		if p.arrived == no {
			left++
		}
	}
	untouched := f.intent.Depth - int64(f.certain.acted+len(f.pending))
	return int64(left)+untouched > f.depth
}

// scattered reports whether other messages are ahead of what would be left if the first k were acknowledged. When the
// record acts on everything, there are none: it began at the head.
func (f *resumption) scattered(seen []sighting, k int) bool {
	if f.intent == nil || !f.intent.Selection.All() {
		return false
	}
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
func (f *resumption) lastByTwins(possible []int, seen []sighting) int {
	times, inSource := f.times(), counted(seen)
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
// forgot some acknowledgements when its node was killed. What is there is the original if no other message is the same.
func (f *resumption) placeByCount(seen []sighting) {
	times, there := f.times(), counted(seen)
	for _, p := range f.pending {
		switch n := there[p.original]; {
		case n == 0:
			p.there = no
		case n == 1 && times[p.original] == 1 && p.id != "" || p.arrived == no:
			p.there = yes
		}
	}
}
