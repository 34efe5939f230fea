package picture

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/term"
)

// trendCells is the width of the little charts in a picture.
const trendCells = 10

// trend is how deep queues were over the last five minutes; "" when nothing is known or nothing was there.
func (b *builder) trend(refs ...model.QueueRef) term.Span {
	if b.Depths == nil {
		return term.Span{}
	}
	values := b.Depths(trendCells, refs...)
	const least = 3 // known values: fewer are no trend
	known, some := 0, false
	for _, v := range values {
		if v >= 0 {
			known++
		}
		some = some || v > 0
	}
	if !some || known < least {
		return term.Span{}
	}
	return term.Span{Text: Sparkline(values), Tone: term.ToneMuted}
}

// ready is how many messages are in a queue.
func readyWords(q *model.Queue, some term.Tone) term.Span {
	n, known := q.Ready.Get()
	switch {
	case q.Outage() != model.NoOutage:
		return term.Span{Text: term.MarkError + " " + string(q.Outage()), Tone: term.ToneDanger}
	case !known:
		return term.Span{Text: "? ready", Tone: term.ToneMuted}
	case n == 0:
		return term.Span{Text: "0 ready", Tone: term.ToneMuted}
	}
	return term.Span{Text: model.Count(n) + " ready", Tone: some}
}

// facts are the lines of a queue's box and the columns of its one line, of the same pieces.
func facts(lines ...term.Spans) []term.Spans {
	var out []term.Spans
	for _, l := range lines {
		var kept term.Spans
		for _, piece := range l {
			if piece.Text == "" {
				continue
			}
			if len(kept) > 0 {
				piece.Text = "  " + piece.Text
			}
			kept = append(kept, piece)
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

func (b *builder) queueStation(ref model.QueueRef) (Station, *model.Queue) {
	s := Station{Queue: ref, name: model.Printable(ref.Name), tone: term.ToneStrong}
	q, ok := b.Topology.Queue(ref)
	if !ok {
		s.facts = []term.Spans{{{Text: "gone", Tone: term.ToneDanger}}}
		s.short = term.Spans{{Text: "gone", Tone: term.ToneDanger}}
	}
	return s, q
}

func (b *builder) bufferGroup(id string, members []*model.Buffer) group {
	g := group{in: Arrow{id: id + " in"}, out: Arrow{id: id + " out", label: string(model.Expired)}}
	for _, m := range members {
		g.stations = append(g.stations, b.bufferStation(m))
		moves := b.Moves.Of(m)
		g.in.rate, g.out.rate = plus(g.in.rate, moves.In), plus(g.out.rate, moves.Out)
		if r, ok := b.Latest[m.Queue]; ok && len(m.Levels) == 0 { // else nobody counts what goes from level to level
			g.in.latest, g.out.latest = plus(g.in.latest, r.In), plus(g.out.latest, r.Out)
		}
	}
	g.heading = model.Plural(len(members), string(members[0].Role)+" buffer")
	return g
}

// plus adds what is known.
func plus[N int64 | float64](sum, n model.Opt[N]) model.Opt[N] {
	if !n.Known() {
		return sum
	}
	return model.Some(sum.Or(0) + n.Or(0))
}

func (b *builder) bufferStation(buffer *model.Buffer) Station {
	if buffer.Queue.Name == "" {
		// The messages wait in an exchange: there is no queue to look into.
		s := b.exchangeStation(buffer.DLX)
		s.tone = term.ToneWaiting
		return s
	}
	if len(buffer.Levels) > 0 {
		return b.levelsStation(buffer)
	}
	s, q := b.queueStation(buffer.Queue)
	if q == nil {
		return s
	}
	s.tone = term.ToneWaiting
	wait, source := string(buffer.Role)+", TTL per message", ""
	if ttl, ok := buffer.TTL.Get(); ok {
		wait = string(buffer.Role) + " " + model.ShortDuration(ttl)
		source = "(" + model.Printable(buffer.TTLSource.String()) + ")"
	}
	ready, due, trend := readyWords(q, term.ToneStrong), b.headDue(buffer, q), b.trend(buffer.Queue)
	s.facts = facts(term.Spans{{Text: wait, Tone: term.ToneText}, {Text: source, Tone: term.ToneMuted}},
		term.Spans{ready, trend}, term.Spans{due.long}, b.extras(q))
	s.short = append(term.Spans{ready, due.short, {Text: wait, Tone: term.ToneText}, trend}, b.extras(q)...)
	return s
}

// headFact is what a box says of the head, and in short what a line does.
type headFact struct{ long, short term.Span }

// headDue is when the head of a buffer leaves it, as exactly as that is known.
func (b *builder) headDue(buffer *model.Buffer, q *model.Queue) headFact {
	h := b.Head(buffer)
	blocks := ""
	if h.Blocked.Past > 0 {
		blocks = ", blocks " + model.Count(int64(h.Blocked.Past))
	}
	switch kind := h.Kind(b.Now); {
	case q.Ready.Or(0) == 0 || kind == HeadNone:
		return headFact{}
	case kind == HeadOverdue:
		return headFact{
			term.Span{Text: term.MarkWarning + " head overdue", Tone: term.ToneWarning},
			term.Span{Text: term.MarkWarning + " head overdue", Tone: term.ToneWarning},
		}
	case kind == HeadNever:
		return headFact{
			term.Span{Text: term.MarkWarning + " head due never", Tone: term.ToneDanger},
			term.Span{Text: term.MarkWarning + " due never", Tone: term.ToneDanger},
		}
	case kind == HeadUnknown && blocks == "":
		return headFact{
			term.Span{Text: "head due: unknown", Tone: term.ToneMuted},
			term.Span{Text: "head due: unknown", Tone: term.ToneMuted},
		}
	case blocks != "":
		words := h.Words(b.Now) + blocks
		return headFact{
			term.Span{Text: term.MarkWarning + " head due in " + words, Tone: term.ToneWarning},
			term.Span{Text: term.MarkWarning + " due " + words, Tone: term.ToneWarning},
		}
	case kind == headNow:
		return headFact{term.Span{Text: "head due now", Tone: term.ToneText}, term.Span{Text: "due now", Tone: term.ToneText}}
	}
	words := h.Words(b.Now)
	if h.Cut {
		return headFact{
			term.Span{Text: term.MarkError + " head dropped in " + words, Tone: term.ToneDanger},
			term.Span{Text: term.MarkError + " dropped " + words, Tone: term.ToneDanger},
		}
	}
	return headFact{
		term.Span{Text: "head due in " + words, Tone: term.ToneText},
		term.Span{Text: "due " + words, Tone: term.ToneText},
	}
}

// extras are what a queue holds besides ready messages, when it does.
func (b *builder) extras(q *model.Queue) term.Spans {
	var out term.Spans
	if n := q.DeadLettering.Or(0); n > 0 {
		out = append(out, term.Span{
			Text: term.MarkWarning + " " + model.Count(n) + " held for dead-lettering",
			Tone: term.ToneWarning,
		})
	}
	if n := q.Delayed.Or(0); n > 0 {
		out = append(out, term.Span{Text: model.Count(n) + " delayed", Tone: term.ToneText})
	}
	return out
}

func (b *builder) workerStation() Station {
	s, q := b.queueStation(b.flow.Worker.Queue)
	if q == nil {
		return s
	}
	consumers := term.Span{Text: ConsumerCount(q.Consumers), Tone: term.ToneText}
	if q.Polled() {
		consumers.Text = "polled " + perSecond(q.PollRate.Or(0))
	} else if n, known := q.Consumers.Get(); known && n == 0 {
		consumers = term.Span{Text: term.MarkWarning + " no consumers", Tone: term.ToneWarning}
	}
	ready := readyWords(q, term.ToneText)
	unacked := term.Span{}
	if n := q.Unacked.Or(0); n > 0 {
		unacked = term.Span{Text: model.Count(n) + " unacked", Tone: term.ToneText}
	}
	rate := term.Span{}
	if out, ok := b.Moves[q.QueueRef].Out.Get(); ok && out > 0 {
		rate = term.Span{Text: perSecond(out) + " out", Tone: term.ToneGood}
	}
	trend, again := b.trend(q.QueueRef), b.again(q)
	inside := append(term.Spans{ready, unacked}, b.extras(q)...)
	s.facts = facts(inside, term.Spans{consumers}, term.Spans{again, rate, trend})
	for len(s.facts) < 3 {
		s.facts = append(s.facts, term.Spans{})
	}
	if again.Text != "" { // of both the one that tells more has the column
		rate = again
	}
	s.short = append(append(term.Spans{ready}, b.extras(q)...), consumers, rate, trend)
	return s
}

// Again is how fast a queue delivers what consumers gave back, or held when they ended: "24.0/s redelivered", "" when
// nothing is.
func Again(q *model.Queue) string {
	if rate := q.RedeliverRate.Or(0); rate > 0 {
		return perSecond(rate) + " redelivered"
	}
	return ""
}

func (b *builder) again(q *model.Queue) term.Span {
	tone := term.ToneText
	if slices.ContainsFunc(b.Findings, func(f findings.Finding) bool {
		return f.Happening && f.VHost == q.VHost && f.Queue == q.Name
	}) {
		tone = term.ToneDanger
	}
	return term.Span{Text: Again(q), Tone: tone}
}

func (b *builder) failedStation(ref model.QueueRef) Station {
	s, q := b.queueStation(ref)
	if q == nil {
		return s
	}
	if q.Ready.Or(0) > 0 {
		s.tone = term.ToneDanger
	}
	ready, trend := readyWords(q, term.ToneDanger), b.trend(ref)
	consumers := term.Span{Text: ConsumerCount(q.Consumers), Tone: term.ToneMuted}
	s.facts = facts(term.Spans{ready, trend}, term.Spans{consumers})
	s.short = term.Spans{ready, consumers, {}, trend}
	return s
}

func (b *builder) exchangeStation(name string) Station {
	s := Station{name: model.Printable(model.ExchangeName(name)), tone: term.ToneText}
	x, ok := b.exchange(name)
	kind := x.Type
	switch {
	case !ok:
		kind = "does not exist"
	case name == "":
		kind = "direct"
	}
	s.facts = []term.Spans{{{Text: model.Printable(kind), Tone: term.ToneMuted}}}
	s.short = term.Spans{{Text: model.Printable(kind), Tone: term.ToneMuted}}
	if n := x.Delayed.Or(0); n > 0 {
		s.facts = append(s.facts, term.Spans{{Text: model.Count(n) + " delayed", Tone: term.ToneText}})
	}
	return s
}

func ConsumerCount(consumers model.Opt[int64]) string {
	switch n, known := consumers.Get(); {
	case !known:
		return "consumers unknown"
	case n == 0:
		return "no consumers"
	default:
		return model.Plural(int(n), "consumer")
	}
}
