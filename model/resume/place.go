package resume

import (
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// place works out which originals are in the source still. Acknowledgements go in the order of publishing: those that
// are gone are the first ones of those that have arrived. With what is left in front, the source shows how many they
// are. Twins may leave more than one possibility; then the outcome of those that make the difference stays open.
func (f *resumption) place(seen []sighting) {
	var possible []int
	for k := range len(f.pending) + 1 {
		if k > 0 && f.pending[k-1].arrived == no || !f.fits(seen, k) {
			continue
		}
		possible = append(possible, k)
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

// left are the messages that would be in front of the source if the first k were acknowledged, of those that have
// arrived.
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

// fits reports whether the source shows what it would if the first k were acknowledged.
func (f *resumption) fits(seen []sighting, k int) bool {
	for at, i := range f.left(k) {
		if at == len(seen) || seen[at].fingerprint != i.fingerprint {
			return false
		}
	}
	return true
}

// exceeds reports whether the source holds too few messages for all that would be left when the first k were
// acknowledged. That can be told where the record acts on everything: what it had not come to is there, too.
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

// scattered reports whether something else lies in front of what would be left, when the first k were acknowledged.
// Where the record acts on everything, there is nothing else: it began at the head.
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

// byChance is how many messages in a row may have twins that nothing else tells of.
const byChance = 3

// lastByTwins is the highest possibility. More than the first one are only where what is in the source may be twins
// of what is gone: there are others, or it has no message_id, and they are few.
func (f *resumption) lastByTwins(possible []int, seen []sighting) int {
	times := maps.Clone(f.certain.originals)
	for _, p := range f.pending {
		times[p.original]++
	}
	inSource := map[message.Fingerprint]int{}
	for _, s := range seen {
		inSource[s.fingerprint]++
	}
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

// placeByCount decides where the order of the source is another than before: by how many of each there are.
func (f *resumption) placeByCount(seen []sighting) {
	there, all := map[message.Fingerprint]int{}, map[message.Fingerprint]int{}
	for _, s := range seen {
		there[s.fingerprint]++
	}
	for _, i := range f.items {
		all[i.fingerprint]++
	}
	for _, p := range f.pending {
		switch n := there[p.original]; {
		case n == 0:
			p.there = no
		case n >= all[p.original]:
			p.there = yes
		}
	}
}
