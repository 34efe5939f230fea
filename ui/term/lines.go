package term

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
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

// Cut cuts a text, possibly styled, to at most width cells, with "…" in place of what is cut off.
func Cut(text string, width int) string { return cut(text, width, "…") }

// Crop is Cut without a mark.
func Crop(text string, width int) string { return cut(text, width, "") }

func cut(text string, width int, tail string) string {
	if ansi.StringWidthWc(text) <= width {
		return text
	}

	// x/ansi 0.11.9 cuts nothing that fits when counted in clusters: blanks appended, which are cut off, prevent that.
	return ansi.TruncateWc(text+strings.Repeat(" ", max(width, 0)+1), width, tail)
}

// Behind drops the first n cells of a text, possibly styled. A wide character that is cut leaves blanks.
func Behind(text string, n int) string {
	width := max(ansi.StringWidthWc(text)-n, 0)
	for cut := n; ; cut++ {
		rest := ansi.TruncateLeftWc(text, cut, "")
		if missing := width - ansi.StringWidthWc(rest); missing >= 0 {
			return strings.Repeat(" ", missing) + rest
		}
	}
}

// Below puts lines below a block of the same width, as many as fit.
func Below(block string, lines []string, width, height int) string {
	return Block(append(strings.Split(block, "\n"), lines...), width, height)
}

// Beside puts two blocks of the same height side by side, with a line between them.
func Beside(left, right string) string {
	lines := strings.Split(left, "\n")
	others := strings.Split(right, "\n")
	for i := range lines {
		lines[i] += Border.Render("│") + others[i]
	}
	return strings.Join(lines, "\n")
}

// Overlay draws a box in the middle of a picture of width x height cells.
func Overlay(picture, box string, width, height int) string {
	under := strings.Split(picture, "\n")
	over := strings.Split(box, "\n")
	w := 0
	for _, line := range over {
		w = max(w, ansi.StringWidthWc(line))
	}

	left := max(0, (width-w)/2)
	top := max(0, (height-len(over))/2)
	for i, line := range over {
		y := top + i
		if y >= len(under) {
			break
		}
		under[y] = Pad(Crop(under[y], left), left) + Pad(line, w) + Behind(under[y], left+w)
	}

	return strings.Join(under, "\n")
}

// Framed draws a box with a title around lines; width is that of the whole box.
func Framed(title string, lines []string, width int) string {
	inner := max(1, width-4)
	title = Cut(title, inner-2)
	out := make([]string, 0, len(lines)+2)
	out = append(out, Border.Render("╭ ")+Title.Render(title)+
		Border.Render(" "+strings.Repeat("─", max(0, inner-ansi.StringWidthWc(title)))+"╮"))
	for _, line := range lines {
		out = append(out, Border.Render("│ ")+Pad(line, inner)+Border.Render(" │"))
	}

	out = append(out, Border.Render("╰"+strings.Repeat("─", inner+2)+"╯"))
	return strings.Join(out, "\n")
}

// Partition draws the head of a pane: a rule with words in it, and some at its end.
func Partition(words, end string, width int) string {
	line := Border.Render("──")
	used := 2
	if words != "" {
		words = CutMiddle(words, width-12-ansi.StringWidthWc(end))
		line += " " + Strong.Render(words) + " "
		used += ansi.StringWidthWc(words) + 2
	}

	if end != "" {
		end = " " + end + " "
	}

	rest := max(0, width-used-ansi.StringWidthWc(end)-2)
	return line + Border.Render(strings.Repeat("─", rest)) + Muted.Render(end) + Border.Render("──")
}

// Wrap makes a text printable, and breaks it between words into lines of at most width cells. A number stays with its
// unit, and a word with a hyphen is one word; a word wider than a line is broken after a mark, otherwise anywhere.
func Wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	text, width = model.Escaped(text), max(1, width)
	var lines []string
	line, used := "", 0
	begun := false // the line has a word; blanks before it are kept
	for _, word := range splitWords(text, width) {
		w := ansi.StringWidthWc(word)
		if begun && used+1+w > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line, used, begun = "", 0, false
			if word == "" {
				continue // blanks where a line is broken
			}
		}

		if begun {
			line, used = line+" ", used+1
		}

		for w > width {
			piece := broken(word, width)
			lines = append(lines, piece)
			word = word[len(piece):]
			w = ansi.StringWidthWc(word)
		}

		line += word
		used += w
		begun = true
	}

	if line == "" && lines != nil {
		return lines
	}

	return append(lines, line)
}

// splitWords splits a text at blanks, but not a number from its unit.
func splitWords(text string, width int) []string {
	all := strings.Split(text, " ")
	joined := all[:0]
	for _, word := range all {
		if n := len(joined); n > 0 && isNumber(joined[n-1]) && units[strings.TrimRight(word, ".,;:)")] {
			if both := joined[n-1] + " " + word; len(both) <= width {
				joined[n-1] = both
				continue
			}
		}
		joined = append(joined, word)
	}

	return joined
}

// units stay with the number before them.
var units = map[string]bool{
	"ms": true, "s": true, "min": true, "m": true, "h": true, "d": true, "%": true,
	"B": true, "KiB": true, "MiB": true, "GiB": true, "KB": true, "MB": true, "GB": true,
}

func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789.,≤~") == "" && strings.ContainsAny(word, "0123456789")
}

// broken cuts a word wider than a line: after a mark in the second half of the line, otherwise at its end.
func broken(word string, width int) string {
	piece, _, _ := strings.Cut(ansi.HardwrapWc(word, width, true), "\n")
	if piece == "" { // a wide character, in a line of one cell
		_, size := utf8.DecodeRuneInString(word)
		return word[:size]
	}

	if at := strings.LastIndexAny(piece, "-/.:,;_@&=|"); at >= len(piece)/2 {
		return piece[:at+1]
	}

	return piece
}

// Holds reports whether a line, possibly styled, shows a text, ignoring case. "" is in no line.
func Holds(line, text string) bool {
	return text != "" && ContainsFold(strings.ToLower(text), ansi.Strip(line))
}

// Highlight styles each place in a line, possibly styled already, that shows a text, ignoring case.
func Highlight(line, text string, s Style) string {
	if !Holds(line, text) {
		return line
	}
	places, err := regexp.Compile("(?i)" + regexp.QuoteMeta(text))
	if err != nil { // it is not UTF-8
		return line
	}
	plain, dressed, drawn := ansi.Strip(line), "", 0 // drawn in cells
	for _, at := range places.FindAllStringIndex(plain, -1) {
		found := plain[at[0]:at[1]]
		from := ansi.StringWidthWc(plain[:at[0]])
		dressed += Behind(Crop(line, from), drawn) + s.Render(found)
		drawn = from + ansi.StringWidthWc(found)
	}

	return dressed + Behind(line, drawn)
}

// CutMiddle shortens text to width cells and keeps both ends.
func CutMiddle(text string, width int) string {
	n := ansi.StringWidthWc(text)
	if n <= width {
		return text
	}
	if width < 5 {
		return Cut(text, width)
	}
	front := Crop(text, width/2)
	return front + "…" + Behind(text, n-(width-1-ansi.StringWidthWc(front)))
}

// Pad fills a line, possibly styled, to width cells, or cuts it.
func Pad(line string, width int) string {
	line = Cut(line, max(0, width))
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidthWc(line)))
}

// PadLeft is Pad with the blanks before the text.
func PadLeft(text string, width int) string {
	text = Cut(text, width)
	return strings.Repeat(" ", max(0, width-ansi.StringWidthWc(text))) + text
}

// PadMiddle is Pad for texts that differ at both ends.
func PadMiddle(text string, width int) string { return Pad(CutMiddle(text, width), width) }
