package resume

import (
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// place works out which originals are still in the source. Acknowledgements follow the order of publishing, so the
// missing ones are the first of those that have arrived, and what is left at the head of the source shows how many. No
// such answer fits where messages are there that would be acknowledged, but for twins behind the records' messages.
// Twins may allow several answers; the outcome of the messages that make the difference then stays open.
func (f *resumption) place() {
	times, inSource := f.counts()
	ahead, short := f.ahead(), f.short(inSource)
	var possible, leading []int
	there, blocked := 0, false // of those that would be acknowledged
	for k := range len(f.pending) + 1 {
		if k > 0 {
			p := f.pending[k-1]
			if p.arrived == no {
				continue
			}
			n := times[p.original]
			if ahead[p.original] == n && (n == 1 || p.id != "") { // all that are the same are there
				there++
				blocked = blocked || there > short && (p.id != "" || there > byChance)
			}
		}

		switch {
		case !f.fits(k):
		case !blocked:
			possible = append(possible, k)
		case f.leads(k):
			leading = append(leading, k)
		}
	}

	if len(possible) == 0 {
		possible = leading
	}

	if len(possible) == 0 {
		f.placeByCount(times, inSource, short)
		return
	}

	for _, unlikely := range []func(int) bool{f.exceeds, f.scattered} {
		if fewer := model.Without(possible, unlikely); f.all() && len(fewer) > 0 {
			possible = fewer
		}
	}

	first := possible[0]
	if short > 0 && f.exceeds(first) && (len(f.left(first)) <= byChance || f.scattered(first)) {
		return // some may be twins of what is missing; many at the head, in order, are none
	}
	f.settle(first, f.lastByTwins(possible, times, inSource), inSource, ahead, short)
}

// settle decides by the lowest and the highest answer. What looks like an acknowledged message, and has its own
// message_id, is its twin where both its place and the count say so; otherwise which of them it is stays open.
func (f *resumption) settle(first, last int, inSource, ahead message.Twins, short int) {
	more, reached := maps.Clone(inSource), 0 // than are left; by these
	for _, i := range f.left(first) {
		more[i.fingerprint]--
		reached = i.position
	}

	twins := 0
	twin := func(p *pending) bool { return p.id != "" && more[p.original] > 0 }
	for _, p := range f.pending[:first] {
		if twin(p) {
			twins++
		}
	}

	for i, p := range f.pending {
		switch {
		case i >= last || p.arrived == no:
			p.there = yes
		case i < first:
			behind := p.position < reached || ahead[p.original] == 0
			if !twin(p) || twins <= short && behind {
				p.there = no
			}
		}
	}
}

// all reports whether the record acts on everything: otherwise what else is in the source says nothing.
func (f *resumption) all() bool { return f.intent != nil && f.intent.Selection.All() }

// ahead returns how many of each message may be those of the records: a queue that keeps its order has a message no
// further back than it was.
func (f *resumption) ahead() message.Twins {
	last := map[message.Fingerprint]int{}
	for _, i := range f.items {
		last[i.fingerprint] = max(last[i.fingerprint], i.position)
	}

	ahead := message.Twins{}
	for _, s := range f.seen {
		if s.position <= int64(last[s.fingerprint]) {
			ahead[s.fingerprint]++
		}
	}

	return ahead
}

// short returns how many messages of the source look like the records' without being theirs: they are twins that the
// records have not reached yet. 0: none, or it is unknown.
func (f *resumption) short(inSource message.Twins) int {
	if !f.all() || f.leaves() {
		return 0
	}
	inSource = maps.Clone(inSource)
	there := 0
	for _, i := range f.items {
		if inSource[i.fingerprint] > 0 {
			inSource[i.fingerprint]--
			there++
		}
	}

	return max(f.missing(there), 0)
}

// missing returns how many messages the source has too few when n of the records' are in it, besides those that the
// records had not reached. It is negative where others have arrived.
func (f *resumption) missing(n int) int {
	return n + int(f.intent.Depth-f.depth) - f.certain.acted - len(f.pending)
}

// leads reports whether what would be left if the first k were acknowledged is the head of the source, and was behind
// them: then what looks like those k is behind it, and is none of them in a queue that keeps its order.
func (f *resumption) leads(k int) bool {
	left := f.left(k)
	if len(left) == 0 || !f.all() || f.scattered(k) {
		return false
	}
	return !slices.ContainsFunc(f.pending[:k], func(p *pending) bool {
		return p.position > left[len(left)-1].position ||
			slices.ContainsFunc(left, func(i item) bool { return i.fingerprint == p.original })
	})
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
func (f *resumption) fits(k int) bool {
	for at, i := range f.left(k) {
		if at == len(f.seen) || f.seen[at].fingerprint != i.fingerprint {
			return false
		}
	}

	return true
}

// counts returns how many messages of the records have the same original, and how many of each are in the source.
func (f *resumption) counts() (times, inSource message.Twins) {
	times, inSource = maps.Clone(f.certain.originals), message.Twins{}
	for _, p := range f.pending {
		times[p.original]++
	}

	for _, s := range f.seen {
		inSource[s.fingerprint]++
	}

	return times, inSource
}

// exceeds reports whether the source has fewer messages than would be left if the first k were acknowledged. The record
// acts on everything: so the messages still to do are there, too.
func (f *resumption) exceeds(k int) bool {
	return f.missing(len(f.left(k))) > 0
}

// scattered reports whether other messages are ahead of what would be left if the first k were acknowledged. When the
// record acts on everything, there are none: it began at the head.
func (f *resumption) scattered(k int) bool {
	n := len(f.left(k))
	return n > 0 && f.seen[n-1].position != int64(n)
}

// byChance is how many messages in a row may have indistinguishable twins.
const byChance = 3

// lastByTwins returns the highest possible answer. It exceeds the first only if messages in the source may be twins of
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
func (f *resumption) placeByCount(times, there message.Twins, short int) {
	for _, p := range f.pending {
		n := there[p.original]
		switch {
		case n == 0, n == f.certain.stay[p.original] && p.arrived != no && !f.leaves():
			p.there = no
		case p.arrived == no, short == 0 && n == times[p.original] && p.id != "":
			p.there = yes
		}
	}
}
