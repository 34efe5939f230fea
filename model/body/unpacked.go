package body

import (
	"bytes"

	"github.com/dlxtop/dlxtop/model/message"
)

// Unpacked is what is packed in a body, to a bound, and in what: "gzip", "base64 → gzip". It is false of a body that is
// not packed, which it says without reading all of it.
func Unpacked(m *message.Message) (data []byte, steps []string, ok bool) {
	if !mayBePacked(m) {
		return nil, nil, false
	}
	d := documentOf(m)
	d.unpack()
	return d.data, d.steps, len(d.steps) > 0
}

// mayBePacked looks at the beginning of a body.
func mayBePacked(m *message.Message) bool {
	encoding := m.Properties.ContentEncoding
	if encoding != "" && !plainEncodings[encoding] || len(m.Body) > 0 && m.Body[0] == 0 { // the frame of a registry
		return true
	}
	for _, c := range compressions {
		for _, magic := range c.magic {
			if bytes.HasPrefix(m.Body, []byte(magic)) {
				return true
			}
		}
	}
	if len(m.Body) < leastBase64 {
		return false
	}
	for _, b := range m.Body[:leastBase64] {
		if !inBase64[b] {
			return false
		}
	}
	return true
}

// inBase64 are the bytes that base64 is made of.
var inBase64 = func() (in [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_= \t\r\n") {
		in[b] = true
	}
	return in
}()
