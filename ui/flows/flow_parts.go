package flows

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// part is one queue of a flow with how it plays its part.
type part struct {
	role  string
	name  string // printable
	ready term.Field
	how   term.Field
	why   string // printable
}

// flowParts are the flow's queues in the order in which a message passes them.
func flowParts(s *term.Styles, t *model.Topology, flow *model.Flow) []part {
	queuePart := func(role string, m model.Member, some term.Style, how term.Field) part {
		ready := shell.NumberField(s, shell.ReadyOf(t, m.Queue), some)
		ready.Text += " ready"
		return part{role, model.Printable(m.Queue.Name), ready, how, model.Printable(m.Reason)}
	}
	var parts []part
	for _, b := range flow.Buffers {
		waiting := shell.NumberField(s, t.Waiting(b), s.Waiting)
		waiting.Text += " waiting"
		how := term.Field{Text: model.Printable(bufferHow(b)), Style: s.Text}
		parts = append(parts, part{string(b.Role), model.Printable(b.Name()), waiting, how, model.Printable(b.Reason)})
	}
	consumers := term.Field{Text: "?", Style: s.Muted}
	if q, ok := t.Queue(flow.Worker.Queue); ok {
		if consumers = shell.ConsumersField(s, q.Consumers); q.Polled() {
			consumers = term.Field{Text: "polled", Style: s.Text}
		} else if q.Consumers.Or(1) == 0 {
			consumers.Text = "no consumers !"
		}
		if again := picture.Again(q); again != "" {
			consumers.Text += "  " + again
		}
	}
	parts = append(parts, queuePart("worker", flow.Worker, s.Text, consumers))
	for _, m := range flow.Failed {
		parts = append(parts, queuePart("failed", m, s.Danger, term.Field{}))
	}
	return parts
}

// bufferHow tells how long a buffer holds messages, who says so, and where they go then.
func bufferHow(b *model.Buffer) string {
	how := "each message's own TTL"
	ttl, hasTTL := b.TTL.Get()
	longest, hasLongest := b.MaxTTL.Get()
	switch {
	case b.InExchange != "":
		return "waiting in the exchange itself"
	case b.Held:
		return "held by its consumers until due"
	case hasLongest && len(b.Levels) > 0:
		how = fmt.Sprintf("%d levels, up to %s", len(b.Levels), model.ShortDuration(shell.RoundUp(longest)))
	case hasTTL:
		how = fmt.Sprintf("TTL %s (%s)", model.ShortDuration(ttl), b.TTLSource)
	}
	return how + " → " + model.ExchangeName(b.DLX)
}

// partLines align the parts. In full each has its reason on a line of its own, else as much of it as fits at the end.
func partLines(s *term.Styles, parts []part, width int, full bool) []string {
	names, readies, hows := 0, 0, 0
	for _, p := range parts {
		names, readies, hows = max(names, ansi.StringWidthWc(p.name)), max(readies, len(p.ready.Text)),
			max(hows, ansi.StringWidthWc(p.how.Text))
	}
	names, hows = min(names, width*2/5), min(hows, width*2/5)
	var lines []string
	for _, p := range parts {
		line := "   " + s.Muted.Render(term.Fit(p.role, 7, false, false)) + "  " +
			term.Fit(p.name, names, false, true) + "  " +
			p.ready.Style.Render(term.Fit(p.ready.Text, readies, true, false)) + "  " +
			p.how.Style.Render(term.Fit(p.how.Text, hows, false, true))
		if !full {
			if width-ansi.StringWidthWc(line) > 24 { // less than that says nothing
				line += "  " + s.Muted.Render(p.why)
			}
			lines = append(lines, line)
			continue
		}
		lines = append(lines, line)
		for _, why := range term.Wrap(p.why, width-14) {
			lines = append(lines, "            "+s.Muted.Render(why))
		}
	}
	return lines
}
