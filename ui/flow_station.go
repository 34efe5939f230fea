package ui

import (
	"strings"

	"dlxtop/model"
)

// trendCells is the width of the little charts in a picture.
const trendCells = 10

// trend is how deep a queue was over the last five minutes; "" when nothing is known or nothing was there.
func (b *pictureBuilder) trend(ref model.QueueRef) span {
	if b.history == nil {
		return span{}
	}
	values := b.history.ready(b.now, trendCells, ref)
	const least = 3 // known values: fewer are no trend
	known, some := 0, false
	for _, v := range values {
		if v >= 0 {
			known++
		}
		some = some || v > 0
	}
	if !some || known < least {
		return span{}
	}
	return span{sparkline(values), toneMuted}
}

// ready is how many messages are in a queue.
func readyWords(q *model.Queue, some tone) span {
	n, known := q.Ready.Get()
	switch {
	case !known:
		return span{"? ready", toneMuted}
	case n == 0:
		return span{"0 ready", toneMuted}
	}
	return span{model.Count(n) + " ready", some}
}

// facts are the lines of a queue's box and the columns of its one line, of the same pieces.
func facts(lines ...spans) []spans {
	var out []spans
	for _, l := range lines {
		var kept spans
		for _, piece := range l {
			if piece.text == "" {
				continue
			}
			if len(kept) > 0 {
				piece.text = "  " + piece.text
			}
			kept = append(kept, piece)
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

func (b *pictureBuilder) queueStation(ref model.QueueRef) (station, *model.Queue) {
	s := station{queue: ref, name: model.Printable(ref.Name), tone: toneStrong}
	q, ok := b.queue(ref)
	if !ok {
		s.facts = []spans{{{"gone", toneDanger}}}
		s.short = spans{{"gone", toneDanger}}
	}
	return s, q
}

// queue is a queue with the newest counts.
func (b *pictureBuilder) queue(ref model.QueueRef) (*model.Queue, bool) {
	q, ok := b.topology.Queue(ref)
	c, counted := b.counts[ref]
	if !ok || !counted {
		return q, ok
	}
	live := *q
	live.Ready = c.Ready
	if c.Consumers.Known() {
		live.Consumers = c.Consumers
	}
	if c.Unacked.Known() {
		live.Unacked = c.Unacked
	}
	return &live, true
}

func (b *pictureBuilder) bufferGroup(id string, members []model.Buffer) group {
	g := group{in: arrow{id: id + " in"}, out: arrow{id: id + " out", label: string(model.Expired)}}
	for _, m := range members {
		g.stations = append(g.stations, b.bufferStation(m))
		moves := b.moves[m.Queue]
		g.in.rate, g.out.rate = plusRate(g.in.rate, moves.In), plusRate(g.out.rate, moves.Out)
		if r, ok := b.rates[m.Queue]; ok {
			g.in.latest, g.out.latest = plusRate(g.in.latest, r.latest.In), plusRate(g.out.latest, r.latest.Out)
		}
	}
	g.heading = model.Plural(len(members), string(members[0].Role)+" buffer")
	return g
}

// plusRate adds what is known.
func plusRate(sum, rate model.Opt[float64]) model.Opt[float64] {
	if !rate.Known() {
		return sum
	}
	return model.Some(sum.Or(0) + rate.Or(0))
}

func (b *pictureBuilder) bufferStation(buffer model.Buffer) station {
	if buffer.Queue.Name == "" {
		// The messages wait in an exchange: there is no queue to look into.
		s := b.exchangeStation(buffer.DLX)
		s.tone = toneWaiting
		return s
	}
	s, q := b.queueStation(buffer.Queue)
	if q == nil {
		return s
	}
	s.tone = toneWaiting
	wait, source := string(buffer.Role)+", TTL per message", ""
	if ttl, ok := buffer.TTL.Get(); ok {
		wait = string(buffer.Role) + " " + model.ShortDuration(ttl)
		source = "(" + model.Printable(buffer.TTLSource.String()) + ")"
	}
	ready, due, trend := readyWords(q, toneStrong), b.headDue(buffer, q), b.trend(buffer.Queue)
	s.facts = facts(spans{{wait, toneText}, {source, toneMuted}}, spans{ready, trend}, spans{due}, b.extras(q))
	due.text = strings.Replace(strings.Replace(due.text, "head due ", "due ", 1), "due in ", "due ", 1)
	s.short = append(spans{ready, due, {wait, toneText}, trend}, b.extras(q)...)
	return s
}

// headDue is when the head of a buffer leaves it, as exactly as that is known.
func (b *pictureBuilder) headDue(buffer model.Buffer, q *model.Queue) span {
	h := b.head(&buffer, b.now)
	words := h.words(b.now)
	switch {
	case q.Ready.Or(0) == 0:
		return span{}
	case words == "overdue":
		return span{markWarning + " head overdue", toneWarning}
	case words == "never":
		return span{markWarning + " head due never", toneDanger}
	case h.blocked.Past > 0:
		return span{markWarning + " head due in " + words + ", blocks " + model.Count(int64(h.blocked.Past)), toneWarning}
	case words == "?":
		return span{"head due: not told", toneMuted}
	case words == "-":
		return span{}
	case words == "now":
		return span{"head due now", toneText}
	}
	return span{"head due in " + words, toneText}
}

// extras are what a queue holds besides ready messages, when it does.
func (b *pictureBuilder) extras(q *model.Queue) spans {
	var out spans
	if n := q.DeadLettering.Or(0); n > 0 {
		out = append(out, span{markWarning + " " + model.Count(n) + " held for dead-lettering", toneWarning})
	}
	if n := q.Delayed.Or(0); n > 0 {
		out = append(out, span{model.Count(n) + " delayed", toneText})
	}
	return out
}

func (b *pictureBuilder) workerStation() station {
	s, q := b.queueStation(b.flow.Worker.Queue)
	if q == nil {
		return s
	}
	consumers := span{consumerWords(q.Consumers), toneText}
	if n, known := q.Consumers.Get(); known && n == 0 {
		consumers = span{markWarning + " no consumers", toneWarning}
	}
	ready := readyWords(q, toneText)
	unacked := span{}
	if n := q.Unacked.Or(0); n > 0 {
		unacked = span{model.Count(n) + " unacked", toneText}
	}
	rate := span{}
	if out, ok := b.moves[q.QueueRef].Out.Get(); ok && out > 0 {
		rate = span{perSecond(out) + " out", toneGood}
	}
	trend := b.trend(q.QueueRef)
	s.facts = facts(spans{ready, unacked}, spans{consumers}, spans{rate, trend})
	for len(s.facts) < 3 {
		s.facts = append(s.facts, spans{})
	}
	s.short = spans{ready, consumers, rate, trend}
	return s
}

func (b *pictureBuilder) failedStation(ref model.QueueRef) station {
	s, q := b.queueStation(ref)
	if q == nil {
		return s
	}
	if q.Ready.Or(0) > 0 {
		s.tone = toneDanger
	}
	ready, trend := readyWords(q, toneDanger), b.trend(ref)
	consumers := span{consumerWords(q.Consumers), toneMuted}
	s.facts = facts(spans{ready, trend}, spans{consumers})
	s.short = spans{ready, consumers, {}, trend}
	return s
}

func (b *pictureBuilder) exchangeStation(name string) station {
	s := station{name: model.Printable(model.ExchangeName(name)), tone: toneText}
	x, ok := b.exchange(name)
	kind := x.Type
	switch {
	case !ok:
		kind = "does not exist"
	case name == "":
		kind = "direct"
	}
	s.facts = []spans{{{model.Printable(kind), toneMuted}}}
	s.short = spans{{model.Printable(kind), toneMuted}}
	if n := x.Delayed.Or(0); n > 0 {
		s.facts = append(s.facts, spans{{model.Count(n) + " delayed", toneText}})
	}
	return s
}
