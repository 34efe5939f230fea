package act

import (
	"bytes"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// leastDifferences is how many lines of differences are seen at least.
const leastDifferences = 3

// scroll moves through the differences.
func (p *MendPrompt) scroll(msg tea.KeyMsg) {
	p.top = shell.Scrolled(p.env.Keys, msg, p.top, len(p.drawn.lines), p.drawn.room)
}

// Prepare lays the differences for a box within width x height.
func (p *MendPrompt) Prepare(width, height int) {
	if p.State != mendShown {
		return
	}
	l := p.box(width)
	d := *p.drawn
	if d.lines == nil || d.width != l.Width {
		d = mendedLines{width: l.Width, lines: p.differences(l.Width)}
	}
	p.above(l)
	p.below(l)
	d.room = max(height-2-len(l.Lines), leastDifferences)
	p.drawn = &d
	p.top = min(p.top, max(len(d.lines)-d.room, 0))
}

// box is as wide as the screen: two sides stand in it.
func (p *MendPrompt) box(width int) *shell.DialogLines {
	l := shell.NewDialogLines(p.env.Styles, width)
	l.Outer = width
	l.Width = l.Outer - 4
	return l
}

// View draws the prompt.
func (p *MendPrompt) View(width int) string {
	l := p.box(width)
	p.above(l)
	if p.State == mendShown {
		end := min(p.top+p.drawn.room, len(p.drawn.lines))
		l.Lines = append(l.Lines, p.drawn.lines[min(p.top, end):end]...)
	}
	p.below(l)
	return l.Box("Edit " + model.Plural(p.Messages, "message") + " with jq")
}

// above is what stands above the differences: the program, and what it makes of the messages.
func (p *MendPrompt) above(l *shell.DialogLines) {
	s := l.Styles
	if p.State != MendTyping {
		l.Say("program", model.Printable(p.field.Text()), s.Strong)
	} else {
		l.Say("messages", p.Words+": "+model.Plural(p.Messages, "message"), s.Text)
		l.Lines = append(l.Lines, s.Muted.Render(term.Fit("program", shell.LabelWidth, false, false))+
			p.field.View(s, l.Width-shell.LabelWidth))
		l.Say("", "each message is {body, headers, properties, exchange, routing_key}: change it in place, as in "+
			".body.quantity |= tonumber", s.Muted)
		if p.wrong != "" {
			l.Say("", term.MarkError+" "+model.Printable(p.wrong), s.Danger)
		}
	}
	switch p.State {
	case MendTrying:
		l.Say("", "trying it on "+model.Plural(p.Messages, "message")+" …", s.Muted)
	case mendShown:
		p.sayMended(l)
	}
}

// sayMended tells how many messages the program changes, and why others stay.
func (p *MendPrompt) sayMended(l *shell.DialogLines) {
	s, m := l.Styles, p.mended
	if p.refusal != "" {
		l.Say("", term.MarkError+" not possible: "+model.Printable(p.refusal), s.Danger)
	}
	if m == nil {
		return
	}
	l.Say("result", m.Words(), s.Strong)
	for _, f := range m.Failures {
		l.Say("stays", fmt.Sprintf("%s: %s", model.Plural(f.Messages, "message"), model.Printable(f.Why.Words())), s.Warning)
	}
	if more := m.Changed - len(m.Shown); more > 0 && len(m.Shown) > 0 {
		which := fmt.Sprintf("the first %d that change", len(m.Shown))
		if ofSeveralQueues(m) {
			which = model.Count(len(m.Shown)) + " of those that change"
		}
		l.Say("examples", which+", before and after", s.Muted)
	}
}

// below is what the keys do.
func (p *MendPrompt) below(l *shell.DialogLines) {
	s, k := l.Styles, p.env.Keys
	l.Blank()
	switch p.State {
	case MendTyping:
		l.Hints(shell.Hint(s, "enter", "try it") + shell.Hint(s, "↑", "earlier programs") + shell.Hint(s, "esc", "back"))
	case MendTrying:
		l.Hints(shell.Hint(s, "esc", "stop"))
	case mendShown:
		hints := shell.Hint(s, k.Mend.Help().Key, "edit the program") + shell.Hint(s, "↓", "more") +
			shell.Hint(s, "esc", "back")
		if p.refusal == "" {
			hints = shell.Hint(s, "enter", "to the replay") + hints
		}
		l.Hints(hints)
	}
}

// differences are the lines of all examples.
func (p *MendPrompt) differences(width int) []string {
	var lines []string
	if m := p.mended; m != nil {
		several := ofSeveralQueues(m)
		for i := range m.Shown {
			lines = append(append(lines, ""), mendedMessage(p.env.Styles, &m.Shown[i], several, width)...)
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

func draftDifferencesOf(was, is *draft.Draft) draftDifferences {
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
func (d *PlanDialog) askMend(l *shell.DialogLines) {
	if d.Mend == nil {
		return
	}
	if m := d.Plan.Mended; m != nil {
		l.Say("edited", m.Words(), l.Styles.Strong)
	}
	l.Aside("by", model.Printable(d.Mend.Text), l.Styles.Muted)
}
