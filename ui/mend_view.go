package ui

import (
	"bytes"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// leastDifferences is how many lines of differences are seen at least.
const leastDifferences = 3

// scroll moves through the differences.
func (p *mendPrompt) scroll(msg tea.KeyMsg) {
	p.top = scrolled(p.env.keys, msg, p.top, len(p.drawn.lines), p.drawn.room)
}

// prepare lays the differences for a box within width x height.
func (p *mendPrompt) prepare(width, height int) {
	if p.state != mendShown {
		return
	}
	l := p.box(width)
	d := *p.drawn
	if d.lines == nil || d.width != l.width {
		d = mendedLines{width: l.width, lines: p.differences(l.width)}
	}
	p.above(l)
	p.below(l)
	d.room = max(height-2-len(l.lines), leastDifferences)
	p.drawn = &d
	p.top = min(p.top, max(len(d.lines)-d.room, 0))
}

// box is as wide as the screen: two sides stand in it.
func (p *mendPrompt) box(width int) *dialogLines {
	l := newDialogLines(p.env.styles, width)
	l.outer = width
	l.width = l.outer - 4
	return l
}

// view draws the prompt.
func (p *mendPrompt) view(width int) string {
	l := p.box(width)
	p.above(l)
	if p.state == mendShown {
		end := min(p.top+p.drawn.room, len(p.drawn.lines))
		l.lines = append(l.lines, p.drawn.lines[min(p.top, end):end]...)
	}
	p.below(l)
	return l.box("Edit " + model.Plural(p.messages, "message") + " with jq")
}

// above is what stands above the differences: the program, and what it makes of the messages.
func (p *mendPrompt) above(l *dialogLines) {
	s := l.styles
	if p.state != mendTyping {
		l.say("program", model.Printable(p.field.Text()), s.Strong)
	} else {
		l.say("messages", p.words+": "+model.Plural(p.messages, "message"), s.Text)
		l.lines = append(l.lines, s.Muted.Render(term.Fit("program", labelWidth, false, false))+
			p.field.View(s, l.width-labelWidth))
		l.say("", "each message is {body, headers, properties, exchange, routing_key}: change it in place, as in "+
			".body.quantity |= tonumber", s.Muted)
		if p.wrong != "" {
			l.say("", term.MarkError+" "+model.Printable(p.wrong), s.Danger)
		}
	}
	switch p.state {
	case mendTrying:
		l.say("", "trying it on "+model.Plural(p.messages, "message")+" …", s.Muted)
	case mendShown:
		p.sayMended(l)
	}
}

// sayMended tells how many messages the program changes, and why others stay.
func (p *mendPrompt) sayMended(l *dialogLines) {
	s, m := l.styles, p.mended
	if p.refusal != "" {
		l.say("", term.MarkError+" not possible: "+model.Printable(p.refusal), s.Danger)
	}
	if m == nil {
		return
	}
	l.say("result", m.Words(), s.Strong)
	for _, f := range m.Failures {
		l.say("stays", fmt.Sprintf("%s: %s", model.Plural(f.Messages, "message"), model.Printable(f.Why.Words())), s.Warning)
	}
	if more := m.Changed - len(m.Shown); more > 0 && len(m.Shown) > 0 {
		which := fmt.Sprintf("the first %d that change", len(m.Shown))
		if ofSeveralQueues(m) {
			which = model.Count(len(m.Shown)) + " of those that change"
		}
		l.say("examples", which+", before and after", s.Muted)
	}
}

// below is what the keys do.
func (p *mendPrompt) below(l *dialogLines) {
	s, k := l.styles, p.env.keys
	l.blank()
	switch p.state {
	case mendTyping:
		l.hints(hint(s, "enter", "try it") + hint(s, "↑", "earlier programs") + hint(s, "esc", "back"))
	case mendTrying:
		l.hints(hint(s, "esc", "stop"))
	case mendShown:
		hints := hint(s, k.Mend.Help().Key, "edit the program") + hint(s, "↓", "more") + hint(s, "esc", "back")
		if p.refusal == "" {
			hints = hint(s, "enter", "to the replay") + hints
		}
		l.hints(hints)
	}
}

// differences are the lines of all examples.
func (p *mendPrompt) differences(width int) []string {
	var lines []string
	if m := p.mended; m != nil {
		several := ofSeveralQueues(m)
		for i := range m.Shown {
			lines = append(append(lines, ""), mendedMessage(p.env.styles, &m.Shown[i], several, width)...)
		}
	}
	return lines
}

// ofSeveralQueues reports whether the messages that are shown are not all of one queue.
func ofSeveralQueues(m *plan.Mended) bool {
	return slices.ContainsFunc(m.Shown, func(o plan.MendedMessage) bool { return o.Queue != m.Shown[0].Queue })
}

// mendedMessage is one example: named with its queue where others are not of the same.
func mendedMessage(s *term.Styles, m *plan.MendedMessage, several bool, width int) []string {
	was := m.Was.Message()
	was.Position = m.Position
	name := comparedName(&was)
	if several {
		name = model.Printable(m.Queue.String()) + "  " + name
	}
	lines := []string{term.Cut(s.Strong.Render(name), width, "…")}
	d := draftDifferencesOf(&m.Was, &m.Is)
	return append(lines, d.lay(s, width)...)
}

// draftDifferences are what an edit changes.
type draftDifferences struct {
	above []string
	body  comparedPart
}

func draftDifferencesOf(was, is *plan.Draft) draftDifferences {
	d := draftDifferences{above: was.DifferencesAbove(is)}
	if !bytes.Equal(was.Body, is.Body) {
		before, after := was.Message(), is.Message()
		d.body.rows, d.body.near = body.Compare(body.Read(&before).Lines, body.Read(&after).Lines)
		if !slices.ContainsFunc(d.body.rows, func(r body.Row) bool { return !r.Same }) {
			return draftDifferences{above: was.Differences(is)} // it lies behind what is read of a body
		}
	}
	return d
}

// lay makes the lines: what differs above the body, and the bodies side by side.
func (d *draftDifferences) lay(s *term.Styles, width int) (lines []string) {
	for _, change := range d.above {
		for _, line := range term.Wrap(change, width-1) {
			lines = append(lines, " "+s.Text.Render(line))
		}
	}
	return append(lines, d.body.lay(s, comparedWidth(width), false)...)
}

// askMend tells what is changed.
func (d *planDialog) askMend(l *dialogLines) {
	if d.mend == nil {
		return
	}
	if m := d.plan.Mended; m != nil {
		l.say("edited", m.Words(), l.styles.Strong)
	}
	l.aside("by", model.Printable(d.mend.Text), l.styles.Muted)
}
