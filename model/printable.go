package model

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is s on one line, with everything escaped that could move a cursor, hide text or change a terminal: control
// characters (\n, \x1b, \u009b), characters that are invisible or change the direction or shape of others (\u{202e}),
// unassigned ones, bytes that are not UTF-8 (\xff), accents without a letter or beyond the fourth on one letter, and
// letters beyond the fourth that terminals may draw into one cell.
//
// Spaces at the beginning and the end are shown as ·: they would be invisible, and names that look alike may differ in
// them.
//
// Everything from a message or a name goes through it before it is drawn. A backslash stays one: this is for display,
// not an encoding to be decoded.
func Printable(s string) string {
	if s != "" && (s[0] == ' ' || s[len(s)-1] == ' ') {
		inner := strings.TrimLeft(s, " ")
		left := len(s) - len(inner)
		inner = strings.TrimRight(inner, " ")
		return strings.Repeat("·", left) + Escaped(inner) + strings.Repeat("·", len(s)-left-len(inner))
	}

	return Escaped(s)
}

// Escaped is Printable, but leaves spaces as they are.
func Escaped(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' {
			return escape(s)
		}
	}

	return s
}

// The bounds of one grapheme cluster, which some terminals draw into one or two cells whatever it contains. Living
// languages stay within them.
const (
	maxMarks   = 4 // combining marks of one letter
	maxLetters = 4 // letters that are one cluster
)

// escape makes s printable. It returns s itself when nothing has to be escaped.
func escape(s string) string {
	var b strings.Builder
	var at cluster
	kept := 0 // s[:kept] has been written
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		invalid := r == utf8.RuneError && size == 1
		if invalid || !unicode.IsPrint(r) || IsHidden(r) || !at.takes(r) {
			at = cluster{}
			if kept == 0 {
				b.Grow(len(s) + 16)
			}
			b.WriteString(s[kept:i])
			kept = i + size
			if invalid {
				b.WriteString(fmt.Sprintf(`\x%02x`, s[i])) // Fprintf would put every builder on the heap
			} else {
				b.WriteString(escaped(r))
			}
		}

		i += size
	}

	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

const brailleBlank = '\u2800' // a symbol by its category

// IsHidden reports whether a rune draws nothing although Unicode counts it as printable: fillers, joiners and
// selectors.
func IsHidden(r rune) bool {
	return r > unicode.MaxLatin1 &&
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, disputed) || r == brailleBlank
}

func escaped(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}

	switch {
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0xa0:
		return fmt.Sprintf(`\u%04x`, r)
	}

	return fmt.Sprintf(`\u{%x}`, r)
}

// tabWidth is the distance between tab stops in a body.
const tabWidth = 4

// PrintableLines splits s into lines, which end with \n or \r\n, and makes each printable; tabs expand to spaces. An
// empty last line is left out.
func PrintableLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Escaped(expandTabs(strings.TrimSuffix(line, "\r")))
	}

	return lines
}

func expandTabs(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		b.WriteString(part)
		column += utf8.RuneCountInString(part)
	}

	return b.String()
}

func PrintableKey(routingKey string) string { return cmp.Or(Printable(routingKey), `""`) }

// Beginning returns a foreign text on one line, cut off after so many characters.
func Beginning(text string, characters int) string {
	runes := []rune(Printable(text))
	if len(runes) > characters {
		runes = append(runes[:characters], '…')
	}
	return string(runes)
}
