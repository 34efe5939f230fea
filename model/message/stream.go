package message

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"

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

var errCut = errors.New("the body ends too early")

// writeText writes a part of a JSON string, which is UTF-8, without quotes.
func writeText(w io.Writer, text []byte) error {
	for len(text) > 0 {
		part := WholeRunes(text, bodyChunk)
		line, err := model.JSONLine(string(part))
		if err == nil {
			_, err = w.Write(line[1 : len(line)-1])
		}
		if err != nil {
			return err
		}
		text = text[len(part):]
	}

	return nil
}

// eachPart calls each with consecutive parts of the body; none ends in the middle of a rune, except the last if the
// body itself does.
func (m *Message) eachPart(body io.ReaderAt, each func([]byte) error) error {
	if len(m.Body) == m.BodyBytes {
		return each(m.Body)
	}
	chunk := make([]byte, bodyChunk)
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
