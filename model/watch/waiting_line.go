package watch

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// waitingLine is the messages waiting in a queue without consumers: they enter at its end and leave at its head, so the
// first to leave came first. The arrival of each is known between two moments: when one is counted late, its place
// among the others is unknown. So the earliest and the latest moments are kept separately, each in order: the n-th
// message came between the n-th of both.
type waitingLine struct {
	earliest, latest []moment // for the same number of messages
}

// moment is when some messages came. The zero time is before everything.
type moment struct {
	at time.Time
	n  int64
}

// momentsKept bounds a line: beyond it, neighbours are merged.
const momentsKept = 4096

// add adds n messages that came between two moments.
func (l *waitingLine) add(n int64, from, to time.Time) {
	if n <= 0 {
		return
	}
	l.earliest, l.latest = insert(l.earliest, moment{from, n}), insert(l.latest, moment{to, n})
	if len(l.earliest) > momentsKept {
		l.earliest = halved(l.earliest, 0)
	}
	if len(l.latest) > momentsKept {
		l.latest = halved(l.latest, 1)
	}
}

func insert(moments []moment, m moment) []moment {
	i := len(moments)
	for i > 0 && moments[i-1].at.After(m.at) {
		i--
	}

	if i > 0 && moments[i-1].at.Equal(m.at) {
		moments[i-1].n += m.n
		return moments
	}

	return slices.Insert(moments, i, m)
}

// halved merges pairs of moments, into the first or the second of each.
func halved(moments []moment, which int) []moment {
	var half []moment
	for i := 0; i < len(moments); i += 2 {
		m := moments[min(i+which, len(moments)-1)]
		m.n = moments[i].n
		if i+1 < len(moments) {
			m.n += moments[i+1].n
		}
		half = append(half, m)
	}

	return half
}

// size returns how many messages wait.
func (l *waitingLine) size() (n int64) {
	for _, m := range l.earliest {
		n += m.n
	}
	return n
}

// burst reports whether all waiting messages came within about a second.
func (l *waitingLine) burst() bool {
	n := len(l.earliest)
	return n > 0 && !l.earliest[0].at.IsZero() && l.latest[len(l.latest)-1].at.Sub(l.earliest[0].at) < 2*vagueWait
}

// removeHead removes up to n messages from the head.
func (l *waitingLine) removeHead(n int64) (taken waitingLine) {
	taken.earliest, l.earliest = cutMoments(l.earliest, n)
	taken.latest, l.latest = cutMoments(l.latest, n)
	return taken
}

func cutMoments(moments []moment, n int64) (head, rest []moment) {
	i := 0
	for i < len(moments) && n >= moments[i].n {
		n -= moments[i].n
		i++
	}

	head = slices.Clone(moments[:i])
	rest = moments[i:]
	if n > 0 && len(rest) > 0 {
		head = append(head, moment{rest[0].at, n})
		rest = slices.Clone(rest)
		rest[0].n -= n
	}

	return head, rest
}

// takeLast removes up to n messages from the end.
func (l *waitingLine) takeLast(n int64) {
	keep := max(l.size()-n, 0)
	*l = l.removeHead(keep)
}

// join puts messages back, or adds others that left at the same time.
func (l *waitingLine) join(others waitingLine) {
	for _, m := range others.earliest {
		l.earliest = insert(l.earliest, m)
	}
	for _, m := range others.latest {
		l.latest = insert(l.latest, m)
	}
}

// overdue returns how many messages certainly came before a moment.
func (l *waitingLine) overdue(before time.Time) (n int64) {
	for _, m := range l.latest {
		if !m.at.Before(before) {
			break
		}
		n += m.n
	}

	return n
}

// span is the shortest and the longest time that messages waited, each at least as exact as vagueWait.
type span struct{ least, most model.Opt[time.Duration] }

// waitedFor returns how long messages had waited that left between two moments, and came not before another one. It is
// unknown when the arrival of one of them is not known well enough.
func (l *waitingLine) waitedFor(from, to, notBefore time.Time) span {
	var s span
	late, left := 0, int64(0)
	for _, early := range l.earliest {
		for n := early.n; n > 0; {
			if left == 0 {
				if late == len(l.latest) {
					return span{}
				}
				left = l.latest[late].n
				late++
			}

			came, before := early.at, l.latest[late-1].at
			if came.Before(notBefore) {
				came = notBefore
			}
			if came.IsZero() || before.Sub(came)+to.Sub(from) > vagueWait {
				return span{}
			}
			wait := (to.Sub(before) + from.Sub(came)) / 2 // between the middles of arrival and departure
			s.least, s.most = leastOf(s.least, model.Some(wait)), mostOf(s.most, model.Some(wait))
			step := min(n, left)
			n, left = n-step, left-step
		}
	}

	return s
}

// near reports whether a span equals a TTL, as exactly as counts can show.
func (s span) near(ttl time.Duration) bool {
	return s.least.Known() && s.least.Or(0) > ttl-vagueWait/2 && s.most.Or(0) < ttl+vagueWait/2
}

// and returns the span over both; unknown when one is.
func (s span) and(other span) span {
	if !s.least.Known() || !other.least.Known() {
		return span{}
	}
	return span{leastOf(s.least, other.least), mostOf(s.most, other.most)}
}

func leastOf(a, b model.Opt[time.Duration]) model.Opt[time.Duration] {
	if !a.Known() || b.Known() && b.Or(0) < a.Or(0) {
		return b
	}
	return a
}

func mostOf[T time.Duration | float64](a, b model.Opt[T]) model.Opt[T] {
	if !a.Known() || b.Known() && b.Or(0) > a.Or(0) {
		return b
	}
	return a
}
