package act

import (
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// around is how many equal lines are shown beside one that differs.
const around = 2

// comparedWidth is the width of one side: between them are a mark and its blanks.
func comparedWidth(width int) int { return max((width-5)/2, 1) }

// Lay makes the lines of all parts.
func (c CompareScreen) Lay(width int) []string {
	s, each := c.Env.Styles, comparedWidth(width)
	lines := []string{}
	for i := range c.Parts {
		p := &c.Parts[i]
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, term.Cut(" "+s.Strong.Render(p.name)+"  "+p.summary(s), width, "…"))
		if p.titles != [2]string{} {
			left, right := shell.Toned(s.Muted, p.titles[0], each), shell.Toned(s.Muted, p.titles[1], each)
			lines = append(lines, beside(left, right, "   ", each)...)
		}
		lines = append(lines, p.lay(s, each, c.Whole)...)
	}
	return lines
}

// summary says how much of a part differs.
func (p *comparedPart) summary(s *term.Styles) string {
	differ := 0
	for i := range p.rows {
		if !p.rows[i].Same {
			differ++
		}
	}
	switch {
	case len(p.rows) == 0:
		return s.Muted.Render("none")
	case differ == 0:
		return s.Good.Render("equal")
	case !p.near:
		return s.Warning.Render("too different: line by line, as they come")
	}
	if differ == 1 {
		return s.Warning.Render("1 line differs")
	}
	return s.Warning.Render(model.Plural(differ, "line") + " differ")
}

// lay makes the lines of a part: without the stretches that are equal, of lines too, unless whole.
func (p *comparedPart) lay(s *term.Styles, each int, whole bool) []string {
	var lines []string
	for i := 0; i < len(p.rows); {
		end := i
		for !whole && end < len(p.rows) && p.isFar(end) {
			end++
		}
		if end-i > 1 {
			lines = append(lines, s.Muted.Render("  … "+model.Plural(end-i, "equal line")))
			i = end
			continue
		}
		lines = append(lines, p.rowLines(s, each, &p.rows[i], whole)...)
		i++
	}
	return lines
}

// isFar reports whether a row is equal, and those around it, too.
func (p *comparedPart) isFar(at int) bool {
	for i := max(at-around, 0); i <= min(at+around, len(p.rows)-1); i++ {
		if !p.rows[i].Same {
			return false
		}
	}
	return true
}

// rowLines are a line beside the one that takes its place.
func (p *comparedPart) rowLines(s *term.Styles, each int, r *body.Row, whole bool) []string {
	left, right := r.Left.String(), r.Right.String()
	switch {
	case r.Same && !whole && len(left) > each:
		left = term.Cut(left, each, "…")
		return beside([]string{s.Text.Render(left)}, []string{s.Text.Render(left)}, "   ", each)
	case r.Same:
		return beside(shell.Dressed(s, r.Left, each), shell.Dressed(s, r.Right, each), "   ", each)
	case !r.HasRight:
		only := shell.InkedLines([]shell.Inked{{Text: left, Style: s.Danger}}, each)
		return beside(only, nil, s.Warning.Render(" < "), each)
	case !r.HasLeft:
		return beside(nil, shell.InkedLines([]shell.Inked{{Text: right, Style: s.Good}}, each), s.Warning.Render(" > "), each)
	}
	before, after := CommonEnds(left, right)
	if !whole {
		left, right, before, after = nearDifference(left, right, before, after, each/2)
	}
	return beside(
		shell.InkedLines(changed(s, left, before, after, s.Danger), each),
		shell.InkedLines(changed(s, right, before, after, s.Good), each), s.Warning.Render(" | "), each)
}

// changed is a line whose middle differs.
func changed(s *term.Styles, line string, before, after int, style term.Style) []shell.Inked {
	return []shell.Inked{
		{Text: line[:before], Style: s.Text},
		{Text: line[before : len(line)-after], Style: style},
		{Text: line[len(line)-after:], Style: s.Text},
	}
}

// CommonEnds are the bytes that two lines have in common at their beginning and at their end, in whole characters.
func CommonEnds(a, b string) (before, after int) {
	for before < len(a) && before < len(b) {
		r, size := utf8.DecodeRuneInString(a[before:])
		if other, _ := utf8.DecodeRuneInString(b[before:]); r != other {
			break
		}
		before += size
	}
	for after < len(a)-before && after < len(b)-before {
		r, size := utf8.DecodeLastRuneInString(a[before : len(a)-after])
		if other, _ := utf8.DecodeLastRuneInString(b[before : len(b)-after]); r != other {
			break
		}
		after += size
	}
	return before, after
}

// nearDifference shortens what two lines have in common at their beginning and at their end to so many bytes.
func nearDifference(left, right string, before, after, room int) (l, r string, b, a int) {
	if cut := before - room; cut > len("…") {
		for !utf8.RuneStart(left[cut]) {
			cut++
		}
		left, right, before = "…"+left[cut:], "…"+right[cut:], before-cut+len("…")
	}
	if cut := after - room; cut > len("…") {
		for !utf8.RuneStart(left[len(left)-cut]) {
			cut++
		}
		left, right, after = left[:len(left)-cut]+"…", right[:len(right)-cut]+"…", after-cut+len("…")
	}
	return left, right, before, after
}

// beside puts lines next to lines, with a mark between the first of them.
func beside(left, right []string, mark string, each int) []string {
	lines := make([]string, max(len(left), len(right)))
	at := func(side []string, i int) string {
		if i < len(side) {
			return term.Pad(side[i], each)
		}
		return repeated(" ", each)
	}
	for i := range lines {
		lines[i] = " " + at(left, i) + mark + at(right, i)
		mark = "   "
	}
	return lines
}

func repeated(s string, n int) string { return strings.Repeat(s, max(n, 0)) }

// comparedName is a message's place and id.
func comparedName(m *message.Message) string {
	name := "#" + model.Count(m.Position)
	if m.Properties.MessageID != "" {
		name += "  " + model.Printable(m.Properties.MessageID)
	}
	return name
}
