package picture

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/carry"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/term"
)

const trendCells = 10

// trend returns the depth of queues over the last five minutes; "" when nothing is known or they were empty.
func (b *builder) trend(refs ...model.QueueRef) term.Span {
	if b.Depths == nil {
		return term.Span{}
	}
	values := b.Depths(trendCells, refs...)
	const least = 3 // known values: fewer do not make a trend
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

	return term.Muted.Span(Sparkline(values))
}

func readyWords(q *model.Queue, some term.Style) term.Span {
	n, known := q.Ready.Get()
	switch {
	case q.Outage() != model.NoOutage:
		return term.Danger.Span(term.MarkError + " " + string(q.Outage()))
	case !known:
		return term.Muted.Span("? ready")
	case n == 0:
		return term.Muted.Span("0 ready")
	}

	return some.Span(model.Count(n) + " ready")
}

// facts returns the lines of a queue's box and the columns of its one line, from the same pieces.
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
	s := Station{Queue: ref, name: model.Printable(ref.Name), tone: term.Strong}
	q, ok := b.Topology.Queue(ref)
	if !ok {
		s.facts = []term.Spans{{term.Danger.Span("gone")}}
		s.short = term.Spans{term.Danger.Span("gone")}
	}

	return s, q
}

func (b *builder) bufferGroup(id string, members []*model.Buffer) group {
	g := group{in: Arrow{id: id + " in"}, out: Arrow{id: id + " out", label: string(model.Expired)}}
	for _, m := range members {
		g.stations = append(g.stations, b.bufferStation(m))
		moves := b.Moves.Of(m)
		g.in.rate, g.out.rate = polls.Plus(g.in.rate, moves.In), polls.Plus(g.out.rate, moves.Out)
		if r, ok := b.Latest[m.Queue]; ok && len(m.Levels) == 0 { // otherwise movement between levels is not counted
			g.in.latest, g.out.latest = polls.Plus(g.in.latest, r.In), polls.Plus(g.out.latest, r.Out)
		}
	}

	g.heading = model.Plural(len(members), string(members[0].Role)+" buffer")
	return g
}

func (b *builder) bufferStation(buffer *model.Buffer) Station {
	if buffer.Queue.Name == "" {
		// The messages wait in an exchange: there is no queue to look into.
		s := b.exchangeStation(buffer.DLX)
		s.tone = term.Waiting
		return s
	}

	s, q := b.queueStation(buffer.Queue)
	if q == nil {
		return s
	}
	s.tone = term.Waiting
	wait := string(buffer.Role) + ", TTL per message"
	source := ""
	in := ""
	if ttl, ok := buffer.TTL.Get(); ok {
		wait = model.Sayf("%s %s", buffer.Role, ttl)
		source = "(" + model.Printable(buffer.TTLSource.String()) + ")"
	}

	if levels := len(buffer.Levels); levels > 0 { // they delay as one
		s.name = model.Printable(buffer.ShortName())
		wait = string(buffer.Role) + " ≤ " + model.LongDuration(buffer.MaxTTL.Or(0))
		source = model.Sayf("(%v level(s))", levels)
		q, in = b.sumOfLevels(buffer)
	}

	ready := readyWords(q, term.Strong)
	trend := b.trend(buffer.Queues()...)
	ready.Text += in
	long, short := b.headDue(buffer, q)
	s.facts = facts(term.Spans{term.Text.Span(wait), term.Muted.Span(source)}, term.Spans{ready, trend},
		term.Spans{long}, b.extras(q))
	s.short = append(term.Spans{ready, short, term.Text.Span(wait), trend}, b.extras(q)...)
	return s
}

// headDue returns when the head of a buffer leaves it, as exactly as known: for its box, and shorter for a line.
func (b *builder) headDue(buffer *model.Buffer, q *model.Queue) (long, short term.Span) {
	h := b.Head(buffer)
	kind, words := h.Kind(b.Now), h.Words(b.Now)
	due := func(tone term.Style, mark, long, short string) (term.Span, term.Span) {
		return tone.Span(mark + long), tone.Span(mark + short)
	}

	past := h.Blocked.Past
	switch {
	case q.Ready.Or(0) == 0 || kind == polls.HeadNone:
		return long, short
	case kind == polls.HeadOverdue:
		return due(term.Warning, term.MarkWarning, " head overdue", " head overdue")
	case kind == polls.HeadNever:
		return due(term.Danger, term.MarkWarning, " head due never", " due never")
	case kind == polls.HeadOlder:
		return due(term.Warning, term.MarkWarning, " head older than the TTL", " older than the TTL")
	case kind == polls.HeadUnknown && past <= 0:
		return due(term.Muted, "", "head due: unknown", "head due: unknown")
	case past > 0:
		words += ", blocks " + model.Count(past)
		return due(term.Warning, term.MarkWarning, " head due in "+words, " due "+words)
	case kind == polls.HeadNow:
		return due(term.Text, "", "head due now", "due now")
	case h.Cut:
		return due(term.Danger, term.MarkError, " head dropped in "+words, " dropped "+words)
	}

	return due(term.Text, "", "head due in "+words, "due "+words)
}

func (b *builder) extras(q *model.Queue) term.Spans {
	var out term.Spans
	if n := q.DeadLettering.Or(0); n > 0 {
		out = append(out, term.Warning.Span(model.Sayf("%s %v held for dead-lettering", term.MarkWarning, n)))
	}
	if q.Delayed.Or(0) > 0 {
		out = append(out, term.Text.Span(b.Topology.HeldBack(q, b.Now)))
	}

	return out
}

func (b *builder) workerStation() Station {
	s, q := b.queueStation(b.flow.Worker.Queue)
	if q == nil {
		return s
	}
	consumers := term.Text.Span(b.consumerWords(q))
	if q.Polled() {
		consumers.Text = "polled " + perSecond(q.PollRate.Or(0))
	} else if n, known := q.Consumers.Get(); known && n == 0 {
		consumers = term.Warning.Span(term.MarkWarning + " no consumers")
	}

	ready := readyWords(q, term.Text)
	unacked := term.Span{}
	if n := q.Unacked.Or(0); n > 0 {
		unacked = term.Text.Span(model.Count(n) + " unacked")
	}

	rate := term.Span{}
	if out, ok := b.Moves[q.QueueRef].Out.Get(); ok && out > 0 {
		rate = term.Good.Span(perSecond(out) + " out")
	}

	trend, again := b.trend(q.QueueRef), b.redelivering(q)
	inside := append(term.Spans{ready, unacked}, b.extras(q)...)
	retry := term.Span{}
	if own := &b.flow.DelayedRetry; own.Type.Set {
		retry = term.Text.Span("own retry " + own.Range())
	}

	carriers, taken := b.carriers(q)
	s.facts = facts(append([]term.Spans{inside, {consumers}, {retry}, {again, rate, trend}}, carriers...)...)
	for len(s.facts) < 3 {
		s.facts = append(s.facts, term.Spans{})
	}
	if again.Text != "" { // the more informative of the two has the column
		rate = again
	}

	s.short = append(append(term.Spans{ready}, b.extras(q)...), consumers, retry, rate, trend, taken[0])
	return s
}

// Again returns how fast a queue redelivers what consumers returned, or held when they ended: "24.0/s redelivered", ""
// when nothing is.
func Again(q *model.Queue) string {
	if rate := q.RedeliverRate.Or(0); rate > 0 {
		return perSecond(rate) + " redelivered"
	}
	return ""
}

func (b *builder) redelivering(q *model.Queue) term.Span {
	happening := func(f findings.Finding) bool { return f.Happening && f.Concerns(q.QueueRef) }
	if slices.ContainsFunc(b.Findings, happening) {
		return term.Danger.Span(Again(q))
	}
	return term.Text.Span(Again(q))
}

// endStation returns a queue in which messages rest; some is the tone of their number.
func (b *builder) endStation(ref model.QueueRef, some term.Style) Station {
	s, q := b.queueStation(ref)
	if q == nil {
		return s
	}
	if q.Ready.Or(0) > 0 {
		s.tone = some
	}

	ready := readyWords(q, term.Danger)
	trend := b.trend(ref)
	consumers := term.Muted.Span(b.consumerWords(q))
	carriers, taken := b.carriers(q)
	s.facts = facts(append([]term.Spans{{ready, trend}, {consumers}}, carriers...)...)
	s.short = append(term.Spans{ready, consumers}, append(taken, trend)...)
	return s
}

// consumerWords counts the applications that consume a queue; "" where only shovels and federation links do.
func (b *builder) consumerWords(q *model.Queue) string {
	if q.Carried > 0 && !q.Consumed() {
		return ""
	}
	return model.ConsumerWords(q.Applications())
}

// carriers returns the shovels and federation links that take from a queue or lead to it, and where to or from: on two
// lines each for its box, and as two columns for its line, which has the first.
func (b *builder) carriers(q *model.Queue) (lines []term.Spans, short term.Spans) {
	short = term.Spans{{}, {}}
	const most = 2
	all := carry.Of(b.Topology, q.QueueRef)
	for i, s := range all {
		if i == most {
			return append(lines, term.Spans{term.Muted.Span(model.Sayf("+%v more", len(all)-i))}), short
		}
		name, way := term.Text.Span(carry.Title(s)), "← "+carry.Source(s)
		if carry.Takes(s, q.QueueRef) {
			way = "→ " + carry.Target(s)
		}
		if !carry.Runs(s) {
			name = term.Warning.Span(term.MarkWarning + " " + carry.Title(s) + " " + model.Printable(s.State))
		}
		lines = append(lines, term.Spans{name}, term.Spans{term.Muted.Span(way)})
		if i == 0 {
			short = term.Spans{name, term.Muted.Span(way)}
		}
	}

	return lines, short
}

func (b *builder) exchangeStation(name string) Station {
	s := Station{name: model.ExchangeName(name), tone: term.Text}
	x, ok := b.exchange(name)
	kind := x.Type
	switch {
	case !ok:
		kind = "does not exist"
	case name == "":
		kind = "direct"
	}

	s.short = term.Spans{term.Muted.Span(model.Printable(kind))}
	s.facts = []term.Spans{s.short}
	var fronts []string
	for in := range model.Each(b.Topology.Snapshot.Bindings) {
		leadsHere := in.ToExchange && in.Destination == name && in.VHost == b.flow.VHost
		if leadsHere && !slices.Contains(fronts, in.Source) {
			fronts = append(fronts, in.Source)
		}
	}
	for front := range model.Each(b.Topology.Snapshot.Exchanges) {
		if to, _ := b.Topology.Handing(front.ExchangeRef); name != "" && to.Alternate == name && front.VHost == b.flow.VHost {
			fronts = append(fronts, front.Name+" (alternate)")
		}
	}

	if len(fronts) > 0 {
		from := term.Muted.Span("← " + model.Printable(strings.Join(fronts, ", ")))
		s.facts = append(s.facts, term.Spans{from})
		s.short = append(s.short, term.Muted.Span("  "+from.Text))
	}
	if n := x.Delayed.Or(0); n > 0 {
		s.facts = append(s.facts, term.Spans{term.Text.Span(model.Count(n) + " delayed")})
	}

	return s
}

// sumOfLevels returns what is in the levels of a buffer by the newest counts, as if they were one queue, and in how
// many of them something is ready. If one is unavailable, so is the sum.
func (b *builder) sumOfLevels(buffer *model.Buffer) (_ *model.Queue, in string) {
	sum, holding := &model.Queue{}, 0
	for _, ref := range buffer.Levels {
		q, ok := b.Topology.Queue(ref)
		if !ok {
			continue
		}
		if q.Outage() != model.NoOutage {
			sum = q
			break
		}

		sum.Ready, sum.Delayed = polls.Plus(sum.Ready, q.Ready), polls.Plus(sum.Delayed, q.Delayed)
		sum.DeadLettering = polls.Plus(sum.DeadLettering, q.DeadLettering)
		if q.Ready.Or(0) > 0 {
			holding++
		}
	}

	if holding > 0 {
		in = model.Sayf(" in %v level(s)", holding)
	}

	return sum, in
}
