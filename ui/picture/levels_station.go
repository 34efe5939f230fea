package picture

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// levelsStation is levels that delay as one, as one buffer: with what waits in all of them, and how many hold some.
func (b *builder) levelsStation(buffer *model.Buffer) Station {
	s, q := b.queueStation(buffer.Queue)
	if q == nil {
		return s
	}
	s.name, s.tone = model.Printable(buffer.ShortName()), term.ToneWaiting
	sum, holding := b.sumOfLevels(buffer)
	ready := readyWords(&sum, term.ToneStrong)
	if holding > 0 {
		ready.Text += " in " + model.Plural(holding, "level")
	}
	wait := string(buffer.Role) + " ≤ " + model.LongDuration(buffer.MaxTTL.Or(0))
	levels := term.Span{Text: "(" + model.Plural(len(buffer.Levels), "level") + ")", Tone: term.ToneMuted}
	due, trend := b.headDue(buffer, &sum), b.trend(buffer.Levels...)
	s.facts = facts(term.Spans{{Text: wait, Tone: term.ToneText}, levels},
		term.Spans{ready, trend}, term.Spans{due.long}, b.extras(&sum))
	s.short = append(term.Spans{ready, due.short, {Text: wait, Tone: term.ToneText}, trend}, b.extras(&sum)...)
	return s
}

// sumOfLevels is what is in the levels of a buffer by the newest counts, as if they were one queue, and how many hold
// ready messages. One that nobody can use stands for all.
func (b *builder) sumOfLevels(buffer *model.Buffer) (sum model.Queue, holding int) {
	for _, ref := range buffer.Levels {
		q, ok := b.Topology.Queue(ref)
		if !ok {
			continue
		}
		if q.Outage() != model.NoOutage {
			return *q, holding
		}
		sum.Ready, sum.Delayed = plus(sum.Ready, q.Ready), plus(sum.Delayed, q.Delayed)
		sum.DeadLettering = plus(sum.DeadLettering, q.DeadLettering)
		if q.Ready.Or(0) > 0 {
			holding++
		}
	}
	return sum, holding
}
