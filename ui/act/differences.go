package act

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// around is how many equal lines are shown around a differing one.
const around = 2

// layRows lays out two texts side by side, without the stretches in which they are equal, also within lines.
func layRows(rows []body.Row, each int) (lines []string) {
	for i := 0; i < len(rows); {
		end := i
		for end < len(rows) && isFarFromDifference(rows, end) {
			end++
		}

		if end-i > 1 {
			lines = append(lines, term.Muted.Render(model.Sayf("  … %v equal line(s)", end-i)))
			i = end
			continue
		}

		lines = append(lines, layRow(&rows[i], each)...)
		i++
	}

	return lines
}

func isFarFromDifference(rows []body.Row, at int) bool {
	near := rows[max(at-around, 0):min(at+around+1, len(rows))]
	return !slices.ContainsFunc(near, func(r body.Row) bool { return !r.Same })
}

func layRow(r *body.Row, each int) []string {
	left, right := r.Left.String(), r.Right.String()

	switch {
	case r.Same && len(left) > each:
		left = term.Cut(left, each)
		return beside([]string{term.Text.Render(left)}, []string{term.Text.Render(left)}, "   ", each)
	case r.Same:
		return beside(shell.Dressed(r.Left, each), shell.Dressed(r.Right, each), "   ", each)
	case !r.HasRight:
		only := shell.InkedLines(term.Spans{term.Danger.Span(left)}, each)
		return beside(only, nil, term.Warning.Render(" < "), each)
	case !r.HasLeft:
		only := shell.InkedLines(term.Spans{term.Good.Span(right)}, each)
		return beside(nil, only, term.Warning.Render(" > "), each)
	}

	before, after := CommonEnds(left, right)
	left, right, before, after = nearDifference(left, right, before, after, each/2)
	return beside(
		shell.InkedLines(changed(left, before, after, term.Danger), each),
		shell.InkedLines(changed(right, before, after, term.Good), each), term.Warning.Render(" | "), each)
}

func changed(line string, before, after int, style term.Style) term.Spans {
	return term.Spans{
		term.Text.Span(line[:before]),
		style.Span(line[before : len(line)-after]),
		term.Text.Span(line[len(line)-after:]),
	}
}

// CommonEnds returns the bytes that two lines share at their beginning and at their end, in whole characters.
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

// nearDifference shortens what two lines share at their beginning and at their end to fit into room bytes.
func nearDifference(left, right string, before, after, room int) (l, r string, b, a int) {
	if cut := before - room; cut > len("…") {
		for !utf8.RuneStart(left[cut]) {
			cut++
		}
		left = "…" + left[cut:]
		right = "…" + right[cut:]
		before = before - cut + len("…")
	}

	if cut := after - room; cut > len("…") {
		for !utf8.RuneStart(left[len(left)-cut]) {
			cut++
		}
		left = left[:len(left)-cut] + "…"
		right = right[:len(right)-cut] + "…"
		after = after - cut + len("…")
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
		return strings.Repeat(" ", each)
	}

	for i := range lines {
		lines[i] = " " + at(left, i) + mark + at(right, i)
		mark = "   "
	}

	return lines
}
