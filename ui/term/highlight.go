package term

import (
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Holds reports whether a line, which may be dressed, shows a text, whatever the case. "" is in no line.
func Holds(line, text string) bool {
	return text != "" && ContainsFold(strings.ToLower(text), ansi.Strip(line))
}

// Highlight dresses each place of a line, which may be dressed already, where it shows a text, whatever the case.
func Highlight(line, text string, s Style) string {
	plain, needle := []rune(ansi.Strip(line)), folded(text)
	rest := folded(string(plain))
	if runesAt(rest, needle) < 0 {
		return line
	}
	dressed, drawn, read := "", 0, 0 // drawn in cells, read in runes
	for {
		at := runesAt(rest, needle)
		if at < 0 {
			return dressed + Behind(line, drawn)
		}
		found := string(plain[read+at : read+at+len(needle)])
		from := drawn + ansi.StringWidthWc(string(plain[read:read+at]))
		to := from + ansi.StringWidthWc(found)
		dressed += Behind(Cut(line, from, ""), drawn) + s.Render(found)
		drawn, read, rest = to, read+at+len(needle), rest[at+len(needle):]
	}
}

// folded are the runes of a text without their case; as many as it has.
func folded(text string) []rune {
	runes := []rune(text)
	for i, r := range runes {
		runes[i] = unicode.ToLower(r)
	}
	return runes
}

// runesAt is where the first of the texts holds the second one; negative: nowhere, and so for an empty one.
func runesAt(text, needle []rune) int {
	for i := range len(text) - len(needle) + 1 {
		if len(needle) > 0 && slices.Equal(text[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}
