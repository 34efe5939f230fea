package mend

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// body is a body as a program sees it: a JSON value if it is one, otherwise a text; bytes that are not text are
// {"$type": "bytes", "value": base64}, as in headers.
type body struct {
	bytes []byte
	value any
	json  bool
}

func bodyOf(content []byte) body {
	b := body{bytes: content}
	value, ok := parsed(content)
	switch {
	case ok && utf8.Valid(content):
		b.value, b.json = value, true
	case utf8.Valid(content):
		b.value = string(content)
	default:
		b.value = typed("bytes", base64.StdEncoding.EncodeToString(content))
	}

	return b
}

// made returns the bytes of the body that a program returned. An unchanged body stays byte for byte, and so does each
// unchanged member and element of a JSON body.
func (b *body) made(value any) ([]byte, error) {
	if same(b.value, value) {
		return b.bytes, nil
	}
	if b.json {
		start := len(b.bytes) - len(bytes.TrimLeft(b.bytes, jsonSpace))
		end := len(bytes.TrimRight(b.bytes, jsonSpace))
		p := patch{out: append(make([]byte, 0, len(b.bytes)+64), b.bytes[:start]...)}
		p.value(b.bytes[start:end], b.value, value)
		return append(p.out, b.bytes[end:]...), nil
	}

	switch value := value.(type) {
	case string:
		return []byte(value), nil
	case map[string]any:
		if kind, _ := value[typeField].(string); kind == "bytes" {
			read, err := readTyped(value)
			if content, ok := read.([]byte); ok && err == nil {
				return content, nil
			}
			return nil, &Problem{Kind: BadField, Field: bodyField, Detail: "is not base64"}
		}
	}

	return encoded(value), nil
}
