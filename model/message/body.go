package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"dlxtop/model"
)

// BodyKind is what a body is, judged by its bytes.
type BodyKind string

// The kinds of bodies.
const (
	BodyEmpty   BodyKind = "empty"
	BodyJSON    BodyKind = "json"
	BodyText    BodyKind = "text"
	BodyPickled BodyKind = "pickled" // by Python: shown as its structure
	BodyBinary  BodyKind = "binary"
	BodyNotKept BodyKind = "not kept" // only its size was kept
)

// BodyView is a body made ready to be drawn. It is bounded whatever the body is: make it once, not for each frame.
type BodyView struct {
	Kind     BodyKind
	Encoding string   // "utf-8" or "base64": how peek -o json writes it
	Lines    []string // printable: indented JSON, text, or a hex dump
	Note     string   // what is not shown, "" when all is
}

// The bounds of a view, in bytes of the body and of the view.
const (
	maxShownText = 256 << 10
	maxShownHex  = 64 << 10
	maxIndent    = 40 // levels
)

// BodyView prepares a message's body for a screen.
func (m *Message) BodyView() BodyView {
	v := BodyView{Encoding: BodyEncoding(m.Body)}
	switch {
	case len(m.Body) == 0 && m.BodyBytes > 0:
		v.Kind, v.Note = BodyNotKept, fmt.Sprintf("the body (%s) was not kept", Size(int64(m.BodyBytes)))
		return v
	case len(m.Body) == 0:
		v.Kind = BodyEmpty
		return v
	}
	if text, whole, ok := m.Pickled(); ok {
		v.Kind, v.Note = BodyPickled, "pickled by Python, shown as its structure; nothing of it was executed"
		var shown int
		if v.Lines, shown = indentJSON(text); !whole || shown < len(text) {
			v.Note = "a part of it: " + v.Note
		}
		return v
	}
	head := wholeRunes(m.Body, maxShownText)
	shown := len(head)
	var whole bool
	switch {
	case v.Encoding == "base64" || looksBinary(head):
		shown = min(len(m.Body), maxShownHex)
		v.Kind, v.Lines, whole = BodyBinary, hexDump(m.Body[:shown]), shown == len(m.Body)
	case looksJSON(m.Properties.ContentType, head, len(head) == len(m.Body)):
		v.Kind = BodyJSON
		v.Lines, shown = indentJSON(head)
		whole = shown == len(m.Body)
	default:
		v.Kind, v.Lines, whole = BodyText, model.PrintableLines(string(head)), shown == len(m.Body)
	}
	if !whole {
		v.Note = fmt.Sprintf("the first %s of %s", Size(int64(shown)), Size(int64(max(len(m.Body), m.BodyBytes))))
	}
	if e := m.Properties.ContentEncoding; e != "" && v.Kind == BodyBinary {
		if v.Note != "" {
			v.Note += "; "
		}
		v.Note += "content encoding " + model.Printable(cut(e, 40)) + ", shown as it is"
	}
	return v
}

// BodyEncoding is how a body is written as text: "utf-8" when it is UTF-8, else "base64".
func BodyEncoding(body []byte) string {
	if utf8.Valid(body) {
		return "utf-8"
	}
	return "base64"
}

// BodyPreview is the beginning of the body on one printable line, about so many characters of it, with its white space
// folded: for tables. It reads no more of the body than that, but for a pickled one.
func (m *Message) BodyPreview(characters int) string {
	if characters <= 0 || len(m.Body) == 0 {
		return ""
	}
	body := m.Body
	if text, _, ok := m.Pickled(); ok {
		body = text
	}
	head := wholeRunes(body, 4*min(characters, maxShownHex))
	line := strings.Join(strings.Fields(string(head)), " ")
	n := 0
	for i := range line {
		if n == characters {
			line = line[:i]
			break
		}
		n++
	}
	return model.Escaped(line)
}

// wholeRunes is the beginning of b, at most limit bytes, without the half of a rune at its end.
func wholeRunes(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	end := limit
	for end > limit-utf8.UTFMax && end > 0 && !utf8.RuneStart(b[end]) {
		end--
	}
	return b[:end]
}

// looksBinary reports whether text holds what text does not: NUL, or many control characters.
func looksBinary(b []byte) bool {
	controls := 0
	for _, c := range b {
		switch {
		case c == 0:
			return true
		case c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b:
			controls++
		}
	}
	return controls > len(b)/10
}

// looksJSON reports whether a body is JSON; of a cut one whether its beginning is.
func looksJSON(contentType string, head []byte, whole bool) bool {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	if len(trimmed) == 0 {
		return false
	}
	if c := trimmed[0]; c != '{' && c != '[' && !strings.Contains(contentType, "json") {
		return false // 12 and "a" are JSON too, but nobody means it
	}
	if whole {
		return json.Valid(head)
	}
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	for {
		if _, err := d.Token(); err != nil {
			return err == io.EOF || err == io.ErrUnexpectedEOF
		}
	}
}

// indentJSON lays out valid JSON, or the beginning of it, one value a line. It only adds and removes white space
// between tokens: the order of keys and every digit stay. It stops when the view is large enough, and tells how many
// bytes of the source are shown. encoding/json's Indent has no bound: deep nesting makes it write the square of what it
// reads.
func indentJSON(src []byte) (lines []string, shown int) {
	var line []byte
	size, depth := 0, 0
	flush := func() {
		lines = append(lines, model.Escaped(string(line)))
		size += len(line)
		line = append(line[:0], strings.Repeat("  ", min(depth, maxIndent))...)
	}
	for i := 0; i < len(src); i++ {
		if size > 2*maxShownText {
			return lines, i
		}
		switch c := src[i]; c {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			line = append(line, c)
			if next := i + 1 + spaces(src[i+1:]); next < len(src) && (src[next] == '}' || src[next] == ']') {
				line = append(line, src[next])
				i = next
				continue
			}
			depth++
			flush()
		case '}', ']':
			depth--
			flush()
			line = append(line, c)
		case ',':
			line = append(line, c)
			flush()
		case ':':
			line = append(line, ": "...)
		case '"':
			end := stringEnd(src, i)
			line = append(line, src[i:end]...)
			i = end - 1
		default:
			line = append(line, c)
		}
	}
	flush()
	return lines, len(src)
}

func spaces(b []byte) int { return len(b) - len(bytes.TrimLeft(b, " \t\r\n")) }

// stringEnd is the index behind the JSON string that begins at i.
func stringEnd(src []byte, i int) int {
	for j := i + 1; j < len(src); j++ {
		switch src[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(src)
}

// hexDump is 16 bytes a line: offset, hexadecimal, ASCII.
func hexDump(b []byte) []string {
	const width = 16
	lines := make([]string, 0, len(b)/width+1)
	for offset := 0; offset < len(b); offset += width {
		row := b[offset:min(offset+width, len(b))]
		var hex, ascii strings.Builder
		for i := range width {
			if i == width/2 {
				hex.WriteByte(' ')
			}
			if i >= len(row) {
				hex.WriteString("   ")
				continue
			}
			fmt.Fprintf(&hex, "%02x ", row[i])
			if row[i] >= ' ' && row[i] <= '~' {
				ascii.WriteByte(row[i])
			} else {
				ascii.WriteByte('.')
			}
		}
		lines = append(lines, fmt.Sprintf("%08x  %s %s", offset, hex.String(), ascii.String()))
	}
	return lines
}

// Size is a number of bytes for people, in powers of 1,024: "412", "1.2K", "10M".
func Size(bytes int64) string {
	if bytes < 0 {
		return "?"
	}
	if bytes < 1024 {
		return strconv.FormatInt(bytes, 10)
	}
	n, unit := float64(bytes), 0
	for n >= 1023.5 && unit < len("KMGTPE") {
		n /= 1024
		unit++
	}
	digits := 0
	if n < 9.95 {
		digits = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', digits, 64), ".0") + "KMGTPE"[unit-1:unit]
}
