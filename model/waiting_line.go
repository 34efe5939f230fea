package model

import "time"

// waitingLine is what waits in a queue without consumers: messages come at its end and leave at its head, so that what leaves now came
// first.
type waitingLine []arrivals

// arrivals are messages that came between two counts.
type arrivals struct {
	n        int64
	from, to time.Time // when they came; zero when that is not known
}

func (a arrivals) dated() bool { return !a.from.IsZero() }

// lineOf is a line of messages that were there before anybody looked.
func lineOf(n int64) waitingLine {
	var l waitingLine
	l.add(arrivals{n: n})
	return l
}

func (l *waitingLine) add(a arrivals) {
	if a.n <= 0 {
		return
	}
	if last := len(*l) - 1; last >= 0 && (*l)[last].from.Equal(a.from) && (*l)[last].to.Equal(a.to) {
		(*l)[last].n += a.n
		return
	}
	*l = append(*l, a)
}

// take takes n messages from the head. More than are there came and left unseen.
func (l *waitingLine) take(n int64) (taken []arrivals) {
	for n > 0 && len(*l) > 0 {
		head := &(*l)[0]
		part := *head
		part.n = min(n, head.n)
		taken = append(taken, part)
		n -= part.n
		if head.n -= part.n; head.n == 0 {
			*l = (*l)[1:]
		}
	}
	if n > 0 {
		taken = append(taken, arrivals{n: n})
	}
	return taken
}

// replace puts others at the end for up to n messages at the head, which have left unseen. Nobody knows when the others came.
func (l *waitingLine) replace(n int64) {
	var there int64
	for _, a := range *l {
		there += a.n
	}
	n = min(n, there)
	l.take(n)
	l.add(arrivals{n: n})
}

// giveBack puts what was taken in front again.
func (l *waitingLine) giveBack(taken []arrivals) {
	*l = append(append(waitingLine{}, taken...), *l...)
}

// overdue takes the messages that must have left: a queue with a TTL keeps none for longer. They were replaced by as many that came in
// the same moment.
func (l *waitingLine) overdue(ttl time.Duration, now time.Time) (taken []arrivals) {
	for len(*l) > 0 && (*l)[0].dated() && (*l)[0].to.Add(ttl+ttlSlack).Before(now) {
		taken = append(taken, (*l)[0])
		*l = (*l)[1:]
	}
	return taken
}

// span is how long messages waited: the shortest and the longest time. It is known when all are dated well enough.
type span struct{ least, most Opt[time.Duration] }

// waitedFor is how long messages had waited that left between two moments.
func waitedFor(taken []arrivals, from, to time.Time) span {
	var s span
	for _, a := range taken {
		if !a.dated() || a.to.Sub(a.from)+to.Sub(from) > vagueWait {
			return span{}
		}
		// In the middle of when they can have come and left.
		wait := (to.Sub(a.to) + from.Sub(a.from)) / 2
		s.least, s.most = leastOf(s.least, Some(wait)), mostOf(s.most, Some(wait))
	}
	return s
}

// and is the span over both; unknown when one is.
func (s span) and(other span) span {
	if !s.least.Known() || !other.least.Known() {
		return span{}
	}
	return span{leastOf(s.least, other.least), mostOf(s.most, other.most)}
}

func leastOf(a, b Opt[time.Duration]) Opt[time.Duration] {
	if !a.Known() || b.Known() && b.Or(0) < a.Or(0) {
		return b
	}
	return a
}

func mostOf(a, b Opt[time.Duration]) Opt[time.Duration] {
	if !a.Known() || b.Known() && b.Or(0) > a.Or(0) {
		return b
	}
	return a
}
