package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSONLine returns a value as one line of JSON, without a newline, safe for a terminal.
func JSONLine(v any) ([]byte, error) { return EncodeJSON(v, "", "") }

// EncodeJSON is JSONLine, indented as json.Indent does it.
func EncodeJSON(v any, prefix, indent string) ([]byte, error) {
	e := jsonEncoders.Get().(*jsonEncoder)
	defer jsonEncoders.Put(e)
	e.line.Reset()
	e.SetIndent(prefix, indent)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}

	return escapeJSON(bytes.Clone(bytes.TrimRight(e.line.Bytes(), "\n"))), nil
}

// jsonEncoder reuses its memory from one value to the next.
type jsonEncoder struct {
	*json.Encoder
	line *bytes.Buffer
}

var jsonEncoders = sync.Pool{New: func() any {
	line := new(bytes.Buffer)
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	return &jsonEncoder{e, line}
}}

// escapeJSON writes every unprintable character as a \u escape: a terminal can then neither act on it nor hide it, and
// a JSON reader sees no difference. Outside of strings JSON has only ASCII.
func escapeJSON(text []byte) []byte {
	if isVisible(text) || !bytes.ContainsFunc(text, Hidden) {
		return text
	}
	safe := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if Hidden(r) {
			safe = AppendEscaped(safe, r)
		} else {
			safe = utf8.AppendRune(safe, r)
		}
	}

	return safe
}

// isVisible reports whether a text is all visible ASCII, as most JSON is.
func isVisible(text []byte) bool {
	for _, b := range text {
		if (b < ' ' || b > '~') && b != '\n' {
			return false
		}
	}

	return true
}

// AppendEscaped appends a character as JSON's numeric escape.
func AppendEscaped(b []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	}

	return fmt.Appendf(b, `\u%04x`, r)
}

// Hidden reports whether a character is invisible or acts on a terminal; a newline does not count.
func Hidden(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && !unicode.IsPrint(r) }
