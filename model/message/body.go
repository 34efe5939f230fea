package message

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// maxPreview bounds a preview, in characters.
const maxPreview = 64 << 10

// bodyEncoding returns how a body is written as text: "utf-8" when it is UTF-8, otherwise "base64".
func bodyEncoding(body []byte) string {
	if utf8.Valid(body) {
		return "utf-8"
	}
	return "base64"
}

// BodyPreview returns the beginning of the body on one printable line for tables, with its white space folded. It has
// about that many characters and reads no more of the body.
func (m *Message) BodyPreview(characters int) string {
	if characters <= 0 || len(m.Body) == 0 {
		return ""
	}
	head := WholeRunes(m.Body, 4*min(characters, maxPreview))
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

// WholeRunes is the beginning of a text, at most limit bytes, without an incomplete rune at its end.
func WholeRunes[T string | []byte](b T, limit int) T {
	if len(b) <= limit {
		return b
	}
	end := limit
	for end > limit-utf8.UTFMax && end > 0 && !utf8.RuneStart(b[end]) {
		end--
	}

	return b[:end]
}

// Size returns a number of bytes for people, in powers of 1,024: "412", "1.2K", "10M".
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
