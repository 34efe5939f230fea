package message

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// cutBody cuts the body out of the JSON of a message, as it is usually most of it and encoding/json passes over every
// byte three times. rest has an empty text in its place. ok is false when the simple way does not work.
func cutBody(text []byte) (rest, body []byte, ok bool) {
	from, to := 0, 0
	for p := range JSONParts(text) {
		if bytes.IndexByte(p.Quoted, '\\') >= 0 || bytes.EqualFold(p.Quoted, quotedBody) &&
			(!bytes.Equal(p.Quoted, quotedBody) || to > 0) {
			return nil, nil, false // it may be another body member, and the last one counts
		}
		if bytes.Equal(p.Quoted, quotedBody) {
			if from, to = p.From, p.To; to-from < 2 || text[from] != '"' || text[to-1] != '"' {
				return nil, nil, false
			}
		}
	}

	if to == 0 {
		return nil, nil, false
	}
	rest = make([]byte, 0, len(text)-(to-from)+2)
	rest = append(append(append(rest, text[:from]...), `""`...), text[to:]...)
	return rest, text[from+1 : to-1], true
}

var quotedBody = []byte(`"body"`)

// unquoted decodes the text between the quotes of a JSON string; ok is false for anything else.
func unquoted(inside []byte) (text []byte, ok bool) {
	text = make([]byte, 0, len(inside))
	for at := 0; at < len(inside); {
		plain := plainBytes(inside[at:])
		text = append(text, inside[at:at+plain]...)
		if at += plain; at == len(inside) {
			break
		}
		if r, size := utf8.DecodeRune(inside[at:]); r >= utf8.RuneSelf && size > 1 || inside[at] == 0x7f {
			text = append(text, inside[at:at+size]...)
			at += size
			continue
		}

		if letter := escapedBy(inside[at:]); letter != 0 {
			text = append(text, letter)
			at += 2
			continue
		}

		var rest string // rare: numeric escapes, and invalid JSON
		if json.Unmarshal(append(append([]byte{'"'}, inside[at:]...), '"'), &rest) != nil {
			return nil, false
		}
		return append(text, rest...), true
	}

	return text, true
}

// escapedBy returns the character for a backslash and the letter after it, 0 when they are not such an escape.
func escapedBy(text []byte) byte {
	if len(text) < 2 || text[0] != '\\' {
		return 0
	}
	if text[1] == '/' {
		return '/'
	}
	for c, letter := range shortEscapes {
		if letter == text[1] {
			return byte(c)
		}
	}

	return 0
}
