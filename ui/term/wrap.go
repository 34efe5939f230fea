package term

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks printable text between words into lines of at most width cells. A number stays with its unit, and a word
// with a hyphen is one word; what is wider than a line is broken behind a mark, else anywhere.
func Wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	width = max(1, width)
	var lines []string
	line, used := "", 0
	begun := false // the line has a word; blanks before it are kept
	for _, word := range words(text, width) {
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
		line, used, begun = line+word, used+w, true
	}
	if line == "" && lines != nil {
		return lines
	}
	return append(lines, line)
}

// words are the words of a text, each number with its unit.
func words(text string, width int) []string {
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

// units are what a number is not parted from.
var units = map[string]bool{
	"ms": true, "s": true, "min": true, "m": true, "h": true, "d": true, "%": true,
	"B": true, "KiB": true, "MiB": true, "GiB": true, "KB": true, "MB": true, "GB": true,
}

func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789.,≤~") == "" && strings.ContainsAny(word, "0123456789")
}

// broken is the beginning of a word that is wider than a line: to a mark in the second half of the line, else the whole
// line.
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
