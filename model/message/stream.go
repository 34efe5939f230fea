package message

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// bodyChunk is how many bytes of a body are in memory while it is written.
const bodyChunk = 64 << 10

// WriteJSON writes the message as JSON without an end of line, on one line or indented. Where m.Body is only a part, in
// which a failure is looked for, the whole is taken from where it is, twice: first to know how it is to be written.
func (m *Message) WriteJSON(w io.Writer, body io.ReaderAt, prefix, indent string) error {
	head := m.headJSON()
	head.BodyEncoding = bodyEncoding(nil)
	err := m.eachPart(body, func(part []byte) error {
		if head.BodyEncoding = bodyEncoding(part); head.BodyEncoding != bodyEncoding(nil) {
			return io.EOF // known
		}
		return nil
	})
	if err != nil && err != io.EOF {
		return err
	}
	text, err := model.EncodeJSON(head, prefix, indent)
	if err != nil {
		return err
	}
	noBody := `"body":""`
	if indent != "" {
		noBody = `"body": ""`
	}
	// What follows the body has only names that AMQP and dlxtop give: a header may be named body, and comes before it.
	at := bytes.LastIndex(text, []byte(noBody)) + len(noBody) - 1
	if _, err := w.Write(text[:at]); err != nil {
		return err
	}
	if head.BodyEncoding == "base64" {
		encoder := base64.NewEncoder(base64.StdEncoding, w)
		err = m.eachPart(body, func(part []byte) error { _, err := encoder.Write(part); return err })
		err = cmp.Or(err, encoder.Close())
	} else {
		err = m.eachPart(body, func(part []byte) error { return writeText(w, part) })
	}
	if err == nil {
		_, err = w.Write(text[at:])
	}
	return err
}

// emptyBody is how the JSON of a message has a body that is put in later. Nothing else can look like it: names of
// headers are sorted, and these would come in another order.
var emptyBody = []byte(`"body":"","body_encoding":"utf-8","body_bytes":`)

// WriteWithBody writes JSON in which a MessageJSON without its body is, on one line, with the body in its place, which
// is UTF-8. It is what encoding/json would write, but for what cannot be seen, and many times as fast.
func WriteWithBody(w io.Writer, text, body []byte) error {
	at := bytes.Index(text, emptyBody)
	if at < 0 {
		return errNoPlace
	}
	at += len(`"body":"`)
	if _, err := w.Write(text[:at]); err != nil {
		return err
	}
	if err := writeText(w, body); err != nil {
		return err
	}
	_, err := w.Write(text[at:])
	return err
}

var errNoPlace = errors.New("there is no place for the body")

var errCut = errors.New("the body ends too early")

// writeText writes a part of the inside of a JSON string, which is UTF-8.
func writeText(w io.Writer, text []byte) error {
	chunk := chunks.Get().(*[bodyChunk]byte)
	defer chunks.Put(chunk)
	for len(text) > 0 {
		part := WholeRunes(text, bodyChunk/6) // an escape has six bytes at most for one
		if _, err := w.Write(appendJSONText(chunk[:0], part)); err != nil {
			return err
		}
		text = text[len(part):]
	}
	return nil
}

// shortEscapes are the letters behind a backslash that JSON has for some characters.
var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendJSONText escapes a text as model.JSONLine does: what JSON wants, and what cannot be seen.
func appendJSONText(b, text []byte) []byte {
	for at := 0; at < len(text); {
		if c := text[at]; c < utf8.RuneSelf {
			switch letter := shortEscapes[c]; {
			case letter != 0:
				b = append(b, '\\', letter)
			case isPlain(c):
				plain := plainBytes(text[at:])
				b = append(b, text[at:at+plain]...)
				at += plain
				continue
			default:
				b = model.AppendEscaped(b, rune(c))
			}
			at++
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		switch {
		case r == utf8.RuneError && size == 1 || model.Hidden(r):
			b = model.AppendEscaped(b, r)
		default:
			b = append(b, text[at:at+size]...)
		}
		at += size
	}
	return b
}

func isPlain(b byte) bool { return ' ' <= b && b <= '~' && b != '"' && b != '\\' }

// plainBytes is how many bytes at the beginning of a text are plain. It looks at eight at a time: of eight bytes in one
// number, one below 0x20 gets its highest bit when 0x20 is taken from each, and one that is not ASCII has that bit; one
// that equals another is 0 when they are combined by exclusive or, and gets that bit when 1 is taken from it.
func plainBytes(text []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(text); n += 8 {
		b := binary.LittleEndian.Uint64(text[n:])
		quote, slash, rubout := b^ones*'"', b^ones*'\\', b^ones*0x7f
		if (b|(b-ones*' ')|(quote-ones)&^quote|(slash-ones)&^slash|(rubout-ones)&^rubout)&highs != 0 {
			break
		}
	}
	for n < len(text) && isPlain(text[n]) {
		n++
	}
	return n
}

// chunks are buffers for parts of a body.
var chunks = sync.Pool{New: func() any { return new([bodyChunk]byte) }}

// eachPart calls each with one part of the body after the other; none ends in the middle of a rune, but the last, if
// the body does.
func (m *Message) eachPart(body io.ReaderAt, each func([]byte) error) error {
	if len(m.Body) == m.BodyBytes {
		return each(m.Body)
	}
	chunk := chunks.Get().(*[bodyChunk]byte)
	defer chunks.Put(chunk)
	for at := 0; at < m.BodyBytes; {
		part := chunk[:min(bodyChunk, m.BodyBytes-at)]
		if n, err := body.ReadAt(part, int64(at)); n < len(part) {
			if err == io.EOF {
				err = errCut
			}
			return err
		}
		if at+len(part) < m.BodyBytes {
			part = WholeRunes(part, len(part)-1)
		}
		if err := each(part); err != nil {
			return err
		}
		at += len(part)
	}
	return nil
}
