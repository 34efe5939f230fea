package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Block makes lines exactly width x height: long lines are cut, missing ones are blank.
func Block(lines []string, width, height int) string {
	out := make([]string, height)
	for i := range out {
		if i < len(lines) {
			out[i] = Pad(lines[i], width)
		} else {
			out[i] = strings.Repeat(" ", max(0, width))
		}
	}
	return strings.Join(out, "\n")
}

// Spread puts left and right at the two ends of a line of width cells, with a blank between them; left is cut first.
func Spread(left, right string, width int) string {
	r := ansi.StringWidthWc(right)
	switch {
	case r >= width:
		return Pad(right, width)
	case r == 0:
		return Pad(left, width)
	}
	return Pad(left, width-r-1) + " " + right
}

// Cut is at most width cells of a text, which may be dressed, with tail in the place of what is missing.
func Cut(text string, width int, tail string) string {
	if ansi.StringWidthWc(text) <= width {
		return text
	}
	// x/ansi 0.11.9 cuts nothing that fits when it is counted in clusters: blanks behind it, which are cut off, prevent
	// that.
	return ansi.TruncateWc(text+strings.Repeat(" ", max(width, 0)+1), width, tail)
}

// Behind is a text, which may be dressed, without its first n cells. Of a letter that is cut in two, blanks are left.
func Behind(text string, n int) string {
	width := max(ansi.StringWidthWc(text)-n, 0)
	for cut := n; ; cut++ {
		rest := ansi.TruncateLeftWc(text, cut, "")
		if missing := width - ansi.StringWidthWc(rest); missing >= 0 {
			return strings.Repeat(" ", missing) + rest
		}
	}
}

// Below puts lines below a block of the same width, as many as there is room for.
func Below(block string, lines []string, width, height int) string {
	return Block(append(strings.Split(block, "\n"), lines...), width, height)
}

// Beside puts two blocks of the same height side by side, with a line between them.
func Beside(s *Styles, left, right string) string {
	lines, others := strings.Split(left, "\n"), strings.Split(right, "\n")
	for i := range lines {
		lines[i] += s.Border.Render("│") + others[i]
	}
	return strings.Join(lines, "\n")
}

// Overlay draws a box in the middle of a picture of width x height cells. On a plain screen it is alone there.
func Overlay(s *Styles, picture, box string, width, height int) string {
	if s.Plain {
		return Block(strings.Split(box, "\n"), width, height)
	}
	under, over := strings.Split(picture, "\n"), strings.Split(box, "\n")
	w := 0
	for _, line := range over {
		w = max(w, ansi.StringWidthWc(line))
	}
	left, top := max(0, (width-w)/2), max(0, (height-len(over))/2)
	for i, line := range over {
		y := top + i
		if y >= len(under) {
			break
		}
		under[y] = Pad(Cut(under[y], left, ""), left) + Pad(line, w) + Behind(under[y], left+w)
	}
	return strings.Join(under, "\n")
}

// Framed draws a box with a title around lines; width is that of the whole box.
func Framed(s *Styles, title string, lines []string, width int) string {
	inner := max(1, width-4)
	title = Cut(title, inner-2, "…")
	out := make([]string, 0, len(lines)+2)
	out = append(out, s.Border.Render("╭ ")+s.Title.Render(title)+
		s.Border.Render(" "+strings.Repeat("─", max(0, inner-ansi.StringWidthWc(title)))+"╮"))
	for _, line := range lines {
		out = append(out, s.Border.Render("│ ")+Pad(line, inner)+s.Border.Render(" │"))
	}
	out = append(out, s.Border.Render("╰"+strings.Repeat("─", inner+2)+"╯"))
	return strings.Join(out, "\n")
}

// Partition is a rule with words in it, and some at its end: the head of a pane.
func Partition(s *Styles, words, end string, width int) string {
	line := s.Border.Render("──")
	used := 2
	if words != "" {
		words = CutMiddle(words, width-12-ansi.StringWidthWc(end))
		line += " " + s.Strong.Render(words) + " "
		used += ansi.StringWidthWc(words) + 2
	}
	if end != "" {
		end = " " + end + " "
	}
	rest := max(0, width-used-ansi.StringWidthWc(end)-2)
	return line + s.Border.Render(strings.Repeat("─", rest)) + s.Muted.Render(end) + s.Border.Render("──")
}
