package message

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// PHPSerialized is a body as PHP's serialize writes it, or as Symfony wraps that, as JSON that is made of its
// structure: an object is its class and its properties, {"$class": NAME, …}. whole is false where the JSON does not
// have all of it. Nothing of it is executed, and no object is made.
func PHPSerialized(body []byte) (text []byte, whole, ok bool) {
	if len(body) > MaxEnvelope {
		return nil, false, false
	}
	if s, ok := readSymfonyBody(body); ok {
		w := phpWriter{text: s.serialized}
		text = w.value(nil, s.envelope)
		return text, !w.cut, true
	}
	p := phpParser{text: bytes.TrimSpace(body)}
	v, err := p.value(0)
	if err != nil || p.at != len(p.text) {
		return nil, false, false
	}
	w := phpWriter{text: p.text}
	text = w.value(nil, v)
	return text, !w.cut, true
}

// phpWriter writes values as JSON, to a bound.
type phpWriter struct {
	text []byte // that they stand in
	cut  bool
}

func (w *phpWriter) value(out []byte, v *phpValue) []byte {
	if len(out)+len(v.text) > maxPickleText {
		w.cut = true
		return append(out, `"…"`...)
	}
	kind := w.text[v.start]
	switch kind {
	case 'N':
		return append(out, "null"...)
	case 'b':
		return strconv.AppendBool(out, v.text == "1")
	case 'i', 'd':
		if json.Valid([]byte(v.text)) {
			return append(out, v.text...)
		}
		return AppendText(out, v.text) // NAN, INF
	case 'r', 'R': // the values of PHP have numbers, in their order
		number := bytes.TrimSuffix(w.text[v.start+2:v.end], []byte(";"))
		return append(AppendText(append(out, `{"$ref":`...), string(number)), '}')
	case 'a':
		if v.isList() {
			return w.members(append(out, '['), v, false, ']')
		}
		return w.members(append(out, '{'), v, true, '}')
	case 'O', 'C':
		out = AppendText(append(out, `{"$class":`...), v.text)
		if kind == 'C' {
			return append(out, `,"$data":"written by the class itself"}`...)
		}
		if len(v.members) > 0 {
			out = append(out, ',')
		}
		return w.members(out, v, true, '}')
	}
	return AppendText(out, v.text)
}

func (w *phpWriter) members(out []byte, v *phpValue, named bool, end byte) []byte {
	for i, m := range v.members {
		if i > 0 {
			out = append(out, ',')
		}
		if named {
			out = append(AppendText(out, m.key), ':')
		}
		if out = w.value(out, m.value); w.cut {
			break
		}
	}
	return append(out, end)
}

// isList reports whether the keys of an array are 0, 1, 2 and so on.
func (v *phpValue) isList() bool {
	for i, m := range v.members {
		if m.key != strconv.Itoa(i) {
			return false
		}
	}
	return true
}
