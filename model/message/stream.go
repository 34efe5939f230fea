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

// WriteJSON writes the message as JSON without a newline at the end, on one line or indented. When m.Body is only a
// part, in which a failure is looked for, it reads the whole body from its storage, twice: first to find its encoding.
func (m *Message) WriteJSON(w io.Writer, body io.ReaderAt, prefix, indent string) error {
	head := m.headJSON()
	head.BodyEncoding = bodyEncoding(nil)
	err := m.eachPart(body, func(part []byte) error {
		if head.BodyEncoding = bodyEncoding(part); head.BodyEncoding != bodyEncoding(nil) {
			return io.EOF // the encoding is known
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

	// Names after the body come only from AMQP and dlxtop: a header may be named body, but stands before it.
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

// emptyBody is how the JSON of a message looks where the body is inserted later. Nothing else can look like it: names
// of headers are sorted, and these are not.
var emptyBody = []byte(`"body":"","body_encoding":"utf-8","body_bytes":`)

// WriteWithBody writes JSON that contains a MessageJSON without its body, on one line, and inserts the body, which is
// UTF-8. The output is that of encoding/json except that invisible characters are escaped, and it is many times as
// fast.
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

// writeText writes a part of a JSON string, which is UTF-8, without quotes.
func writeText(w io.Writer, text []byte) error {
	chunk := chunks.Get().(*[bodyChunk]byte)
	defer chunks.Put(chunk)
	for len(text) > 0 {
		part := WholeRunes(text, bodyChunk/6) // an escape has at most six bytes for one
		if _, err := w.Write(appendJSONText(chunk[:0], part)); err != nil {
			return err
		}
		text = text[len(part):]
	}

	return nil
}

// shortEscapes are JSON's escape letters for some characters.
var shortEscapes = [utf8.RuneSelf]byte{
	'"':  '"',
	'\\': '\\',
	'\b': 'b',
	'\f': 'f',
	'\n': 'n',
	'\r': 'r',
	'\t': 't',
}

// appendJSONText escapes a text as model.JSONLine does: as JSON requires, and invisible characters.
func appendJSONText(b, text []byte) []byte {
	for at := 0; at < len(text); {
		if c := text[at]; c < utf8.RuneSelf {
			letter := shortEscapes[c]
			switch {
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

// plainBytes returns how many bytes at the beginning of a text are plain. It tests eight bytes at a time, as one
// number: subtracting 0x20 from each sets the highest bit of bytes below 0x20, and bytes that are not ASCII have it;
// XOR with a given byte makes equal ones 0, and subtracting 1 then sets their highest bit.
func plainBytes(text []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(text); n += 8 {
		b := binary.LittleEndian.Uint64(text[n:])
		quote := b ^ ones*'"'
		slash := b ^ ones*'\\'
		rubout := b ^ ones*0x7f
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

// eachPart calls each with consecutive parts of the body; none ends in the middle of a rune, except the last if the
// body itself does.
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
