package message

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"dlxtop/model"
)

// bodyChunk is how many bytes of a body are in memory while it is written.
const bodyChunk = 64 << 10

// WriteJSON writes the message as JSON without an end of line, on one line or indented. Where m.Body is only a part, in
// which a failure is looked for, the whole is taken from where it is, twice: first to know how it is to be written.
func (m *Message) WriteJSON(w io.Writer, body io.ReaderAt, prefix, indent string) error {
	head := m.headJSON()
	encoding, err := encodingOf(wholeBody(m, body))
	if err != nil {
		return err
	}
	head.BodyEncoding = encoding
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
	if encoding == "base64" {
		err = writeBase64(w, wholeBody(m, body))
	} else {
		err = writeText(w, wholeBody(m, body))
	}
	if err == nil {
		_, err = w.Write(text[at:])
	}
	return err
}

// errCut is a body of which less is there than there was.
var errCut = errors.New("the body ends too early")

// whole is a body to its end.
type whole struct {
	*io.SectionReader
	left int64
}

func wholeBody(m *Message, body io.ReaderAt) io.Reader {
	n := int64(m.BodyBytes)
	if len(m.Body) == m.BodyBytes {
		body = bytes.NewReader(m.Body)
	}
	return &whole{io.NewSectionReader(body, 0, n), n}
}

// Read implements io.Reader.
func (w *whole) Read(b []byte) (int, error) {
	n, err := w.SectionReader.Read(b)
	if w.left -= int64(n); err == io.EOF && w.left > 0 {
		err = errCut
	}
	return n, err
}

// encodingOf is BodyEncoding of a text that is not in memory.
func encodingOf(text io.Reader) (string, error) {
	encoding := bodyEncoding(nil)
	err := inRunes(text, func(part []byte) error {
		if encoding = bodyEncoding(part); encoding != bodyEncoding(nil) {
			return io.EOF // known
		}
		return nil
	})
	if err == io.EOF {
		err = nil
	}
	return encoding, err
}

func writeBase64(w io.Writer, body io.Reader) error {
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	chunk := chunks.Get().(*[bodyChunk]byte)
	defer chunks.Put(chunk)
	if _, err := io.CopyBuffer(encoder, body, chunk[:]); err != nil {
		return err
	}
	return encoder.Close()
}

// writeText writes the inside of a JSON string.
func writeText(w io.Writer, text io.Reader) error {
	return inRunes(text, func(part []byte) error {
		for len(part) > 0 {
			plain := 0
			for plain < len(part) && isPlain(part[plain]) {
				plain++
			}
			odd := plain
			for odd < len(part) && !isPlain(part[odd]) {
				odd++
			}
			if _, err := w.Write(part[:plain]); err != nil {
				return err
			}
			if err := writeOdd(w, part[plain:odd]); err != nil {
				return err
			}
			part = part[odd:]
		}
		return nil
	})
}

// isPlain reports whether a byte is written in a JSON string as it is.
func isPlain(b byte) bool { return ' ' <= b && b <= '~' && b != '"' && b != '\\' }

// writeOdd writes what is escaped in a JSON string, or may be.
func writeOdd(w io.Writer, part []byte) error {
	switch string(part) {
	case "":
		return nil
	case `"`:
		_, err := io.WriteString(w, `\"`)
		return err
	}
	quoted, err := model.JSONLine(string(part))
	if err == nil {
		_, err = w.Write(quoted[1 : len(quoted)-1])
	}
	return err
}

// chunks are buffers for parts of a body.
var chunks = sync.Pool{New: func() any { return new([bodyChunk]byte) }}

// inRunes calls each with one part of a text after the other. None of them ends in the middle of a rune, but the last,
// if the text does.
func inRunes(text io.Reader, each func([]byte) error) error {
	chunk := chunks.Get().(*[bodyChunk]byte)
	defer chunks.Put(chunk)
	buffer := chunk[:]
	kept := 0 // bytes of a rune that has only begun
	for {
		n, err := io.ReadFull(text, buffer[kept:])
		n += kept
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		upTo := n
		for i := n - 1; !last && i >= max(n-utf8.UTFMax, 0); i-- {
			if utf8.RuneStart(buffer[i]) {
				if !utf8.FullRune(buffer[i:n]) {
					upTo = i
				}
				break
			}
		}
		if upTo > 0 {
			if err := each(buffer[:upTo]); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		kept = copy(buffer, buffer[upTo:n])
	}
}
