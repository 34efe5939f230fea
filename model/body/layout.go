package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// layout breaks the text of a structure into lines: JSON, or CBOR's diagnostic notation, which is JSON with more kinds
// of values. It only adds and removes white space between tokens: the order of keys and every digit stay. It stops when
// the view is large enough. encoding/json's Indent has no bound: its output for deep nesting grows quadratically.
type layout struct {
	lines  []Line
	line   []Span
	at     int // the depth at the start of the line
	depth  int
	size   int
	opened int // nesting level of JSON in strings
}

func (l *layout) put(kind Kind, text string) {
	if text != "" {
		l.line = append(l.line, Span{kind, model.Escaped(text)})
	}
}

// end finishes the line; the next one is indented.
func (l *layout) end() {
	l.lines = append(l.lines, Line{Depth: l.at, Spans: l.line})
	for _, s := range l.line {
		l.size += len(s.Text)
	}
	l.begin()
}

func (l *layout) begin() {
	l.line, l.at = nil, l.depth
	if l.depth > 0 {
		l.line = []Span{{Plain, strings.Repeat("  ", min(l.depth, maxIndent))}}
	}
}

// structure lays out a text, and returns how many of its bytes were laid out.
func (l *layout) structure(src []byte) (shown int) {
	shown = l.tokens(src)
	l.end()
	return shown
}

func (l *layout) tokens(src []byte) (shown int) {
	for i := 0; i < len(src); {
		if l.size > maxShown {
			return i
		}
		c := src[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			i++
		case '(', ')': // a CBOR tag around one value
			l.put(Mark, string(c))
			i++
		case '{', '[':
			if next := i + 1 + spaces(src[i+1:]); next < len(src) && strings.IndexByte("}]", src[next]) >= 0 {
				l.put(Mark, string(c)+string(src[next]))
				i = next + 1
				continue
			}

			l.put(Mark, string(c))
			l.depth++
			l.end()
			i++
		case '}', ']':
			l.depth = max(l.depth-1, 0)
			l.end()
			l.put(Mark, string(c))

			i++
		case ',':
			l.put(Mark, ",")
			l.end()
			i++
		case ':':
			l.put(Mark, ": ")
			i++
		case '"':
			end := message.EndOfText(src, i+1)
			l.text(src[i:end], src[end:])
			i = end
		default:
			end := i + valueEnd(src[i:])
			l.put(Literal, string(src[i:end]))
			i = end
		}
	}

	return len(src)
}

// text writes a string: the name of a member, a text that contains JSON, or any other.
func (l *layout) text(quoted, rest []byte) {
	if next := spaces(rest); next < len(rest) && rest[next] == ':' {
		l.put(Key, string(quoted))
		return
	}

	if inner, ok := jsonInside(quoted); ok && l.opened < maxOpened {
		l.put(Note, "(JSON in a string) ")
		l.opened++
		l.tokens(inner)
		l.opened--
		return
	}

	l.put(String, string(quoted))
}

// jsonInside returns the JSON inside a JSON string, if it is a non-empty object or list.
func jsonInside(quoted []byte) ([]byte, bool) {
	if len(quoted) < len(`"[1]"`) || bytes.IndexByte(quoted[:min(len(quoted), 8)], '{') < 0 &&
		bytes.IndexByte(quoted[:min(len(quoted), 8)], '[') < 0 {
		return nil, false
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil, false
	}
	inner := bytes.TrimSpace([]byte(text))
	if len(inner) < 3 || inner[0] != '{' && inner[0] != '[' || !json.Valid(inner) {
		return nil, false
	}

	return inner, true
}

func spaces(b []byte) int { return len(b) - len(bytes.TrimLeft(b, " \t\r\n")) }

// valueEnd returns the length of the value at the beginning, which is not a string: a number, a word, or bytes in
// CBOR's diagnostic notation, h'0102'. It is at least 1.
func valueEnd(src []byte) int {
	if end := bytes.IndexAny(src[1:], " \t\r\n{}[](),:\""); end >= 0 {
		return end + 1
	}
	return len(src)
}

// validJSON reports whether a text is JSON; for a truncated one whether its beginning is. Otherwise at is the position
// of the error.
func validJSON(text []byte, whole bool) (at int64, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if json.Valid(text) {
		return 0, true
	}
	if !whole {
		// With a blank appended, an error behind the text is one of truncation.
		text = append(slices.Clip(text), ' ')
	}

	var v json.RawMessage
	var bad *json.SyntaxError
	if errors.As(json.Unmarshal(text, &v), &bad) {
		at = bad.Offset
	}

	return at, !whole && at >= int64(len(text))
}
