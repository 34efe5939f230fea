package message

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/dlxtop/dlxtop/model/serial"
)

// PHPSerialized is a body as PHP's serialize writes it, or as Symfony wraps that, as JSON that is made of its
// structure: an object is its class and its properties, {"$class": NAME, …}. whole is false where the JSON does not
// have all of it. Nothing of it is executed, and no object is made.
func PHPSerialized(body []byte) (text []byte, whole, ok bool) {
	if len(body) > MaxEnvelope {
		return nil, false, false
	}
	s, ok := readSymfonyBody(body)
	if !ok {
		p := phpParser{text: bytes.TrimSpace(body)}
		v, err := p.value(0)
		if err != nil || p.at != len(p.text) {
			return nil, false, false
		}
		s = &symfonyBody{serialized: p.text, envelope: v}
	}
	text, whole = serialOf(s.serialized, s.envelope).JSON(maxSerialText)
	return text, whole, true
}

// maxSerialText bounds what is written of a serialized body, in bytes.
const maxSerialText = 512 << 10

// serialOf is a value that stands in a text of PHP.
func serialOf(text []byte, v *phpValue) *serial.Value {
	switch kind := text[v.start]; kind {
	case 'N':
		return serial.Of("null")
	case 'b':
		return serial.Of(strconv.FormatBool(v.text == "1"))
	case 'i', 'd':
		if json.Valid([]byte(v.text)) {
			return serial.Of(v.text)
		}
		return serial.OfText(v.text) // NAN, INF
	case 'r', 'R': // the values of PHP have numbers, in their order
		out := &serial.Value{Kind: serial.Object}
		out.Add("$ref", serial.OfText(string(bytes.TrimSuffix(text[v.start+2:v.end], []byte(";")))))
		return out
	case 'a', 'O', 'C':
		out := &serial.Value{Kind: serial.Object, Text: v.text}
		switch {
		case kind == 'C':
			out.Add("$data", serial.OfText("written by the class itself"))
		case kind == 'a' && v.isList():
			out.Kind = serial.List
		}
		for _, m := range v.members {
			out.Add(m.key, serialOf(text, m.value))
		}
		return out
	}
	return serial.OfText(v.text)
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
