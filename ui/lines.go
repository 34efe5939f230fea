package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// block makes lines exactly width x height: long lines are cut, missing ones are blank.
func block(lines []string, width, height int) string {
	out := make([]string, height)
	for i := range out {
		if i < len(lines) {
			out[i] = pad(lines[i], width)
		} else {
			out[i] = strings.Repeat(" ", max(0, width))
		}
	}
	return strings.Join(out, "\n")
}

// wrap breaks printable text at words into lines of at most width cells.
func wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	return strings.Split(ansi.Wrap(text, max(1, width), ""), "\n")
}

// spread puts left and right at the two ends of a line of width cells; left is cut first.
func spread(left, right string, width int) string {
	r := ansi.StringWidth(right)
	if r >= width {
		return pad(right, width)
	}
	return pad(left, width-r) + right
}

// overlay draws a box in the middle of a picture of width x height cells.
func overlay(picture, box string, width, height int) string {
	under, over := strings.Split(picture, "\n"), strings.Split(box, "\n")
	w := 0
	for _, line := range over {
		w = max(w, ansi.StringWidth(line))
	}
	left, top := max(0, (width-w)/2), max(0, (height-len(over))/2)
	for i, line := range over {
		y := top + i
		if y >= len(under) {
			break
		}
		under[y] = pad(ansi.Truncate(under[y], left, ""), left) + pad(line, w) + ansi.TruncateLeft(under[y], left+w, "")
	}
	return strings.Join(under, "\n")
}

// framed draws a box with a title around lines; width is that of the whole box.
func framed(s *Styles, title string, lines []string, width int) string {
	inner := max(1, width-4)
	title = ansi.Truncate(title, inner-2, "…")
	out := make([]string, 0, len(lines)+2)
	out = append(out, s.Border.Render("╭ ")+s.Title.Render(title)+
		s.Border.Render(" "+strings.Repeat("─", max(0, inner-ansi.StringWidth(title)))+"╮"))
	for _, line := range lines {
		out = append(out, s.Border.Render("│ ")+pad(line, inner)+s.Border.Render(" │"))
	}
	out = append(out, s.Border.Render("╰"+strings.Repeat("─", inner+2)+"╯"))
	return strings.Join(out, "\n")
}

// partition is a rule with words in it, and some at its end: the head of a pane.
func partition(s *Styles, words, end string, width int) string {
	line := s.Border.Render("──")
	used := 2
	if words != "" {
		words = cutMiddle(words, width-12-ansi.StringWidth(end))
		line += " " + s.Strong.Render(words) + " "
		used += ansi.StringWidth(words) + 2
	}
	if end != "" {
		end = " " + end + " "
	}
	rest := max(0, width-used-ansi.StringWidth(end)-2)
	return line + s.Border.Render(strings.Repeat("─", rest)) + s.Muted.Render(end) + s.Border.Render("──")
}
