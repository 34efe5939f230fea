package model

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is s on one line with everything escaped that could move a cursor, hide text or change a terminal: control
// characters (\n, \x1b, \u009b), what has no shape or changes the direction or the shape of others (\u{202e}), what is
// not assigned, bytes that are no UTF-8 (\xff), and accents beyond the fourth on one letter or without a letter, and
// letters beyond the fourth that terminals may draw into one cell.
//
// Spaces at its beginning and its end are shown as ·: what is blank is not seen, and two names that look alike may
// differ there.
//
// Everything that comes from a message or a name goes through it before it is drawn. A backslash stays one: it is a
// display, not an encoding to be read back.
func Printable(s string) string {
	if s != "" && (s[0] == ' ' || s[len(s)-1] == ' ') {
		inner := strings.TrimLeft(s, " ")
		left := len(s) - len(inner)
		inner = strings.TrimRight(inner, " ")
		return strings.Repeat("·", left) + Escaped(inner) + strings.Repeat("·", len(s)-left-len(inner))
	}
	return Escaped(s)
}

// Escaped leaves spaces as they are.
func Escaped(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' {
			return escape(s)
		}
	}
	return s
}

// Bounds of one grapheme cluster, which some terminals draw into one or two cells, whatever is in it: living languages
// stay below them.
const (
	maxMarks   = 4 // combining marks of one letter
	maxLetters = 4 // letters that are one cluster
)

// escape makes s printable. It returns s itself when nothing has to be escaped.
func escape(s string) string {
	var b strings.Builder
	var at cluster
	kept := 0 // s[:kept] is written
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

// IsHidden reports whether Unicode counts a rune as printable although it draws nothing: fillers, joiners and
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

// tabWidth is the distance of tab stops in a body.
const tabWidth = 4

// PrintableLines is s line by line, each made printable. Lines end with \n or \r\n; tabs become spaces up to the next
// of their stops. A last line without text is left out.
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
