package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// JSONLine is a value as one line of JSON, without its end, safe for a terminal.
func JSONLine(v any) ([]byte, error) { return EncodeJSON(v, "", "") }

// EncodeJSON is JSONLine, indented as json.Indent does it.
func EncodeJSON(v any, prefix, indent string) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, indent)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return EscapeJSON(bytes.TrimRight(line.Bytes(), "\n")), nil
}

// EscapeJSON writes every character that is not printable as \u escapes: what a terminal would act on or hide cannot do
// anything to a person who looks at it, and to a JSON reader it is the same. Outside of strings JSON has only ASCII.
func EscapeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, Hidden) {
		return text
	}
	safe := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !Hidden(r):
			safe = utf8.AppendRune(safe, r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
	}
	return safe
}

// Hidden reports whether a character cannot be seen, or acts on a terminal; the end of a line does not count.
func Hidden(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && !unicode.IsPrint(r) }
