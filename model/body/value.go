package body

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model/message"
)

// value is a value of a structure.
type value struct {
	kind    valueKind
	text    string // of a literal, a text or bytes; the class of an object, "" when it has none
	members []member
}

// member is an element of a list, which has no name, or a member of an object.
type member struct {
	name string
	of   *value
}

type valueKind int

const (
	literalValue valueKind = iota // text is as JSON has it
	textValue
	bytesValue
	listValue
	objectValue
)

var (
	errStructure = errors.New("not this format")
	errTooMuch   = errors.New("too large or too deep")
)

func literal(text string) *value { return &value{kind: literalValue, text: text} }
func text(s string) *value       { return &value{kind: textValue, text: s} }
func whole(n int64) *value       { return literal(strconv.FormatInt(n, 10)) }

// object is an object of members, the name of its kind first: {"$class": NAME, …}.
func (v *value) add(name string, of *value) { v.members = append(v.members, member{name, of}) }

// float is a number, or the name of what JSON has no number for.
func float(f float64, bits int) *value {
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return text(s)
	}
	return literal(s)
}

// binary are bytes: as text where they are one.
func binaryValue(b []byte) *value {
	if utf8.Valid(b) && !message.LooksBinary(b) {
		return text(string(b))
	}
	return &value{kind: bytesValue, text: string(b)}
}

// appendJSON writes a value as JSON. It ends when more is written than is shown.
func (v *value) appendJSON(out []byte) []byte {
	if len(out) > maxShown {
		return append(out, `"…"`...)
	}
	switch v.kind {
	case literalValue:
		return append(out, v.text...)
	case textValue:
		return message.AppendText(out, v.text)
	case bytesValue:
		bytes := base64.StdEncoding.EncodeToString([]byte(v.text))
		return append(message.AppendText(append(out, `{"$bytes":`...), bytes), '}')
	case listValue:
		return v.appendMembers(append(out, '['), ']', false)
	}
	out = append(out, '{')
	if v.text != "" {
		out = message.AppendText(append(out, `"$class":`...), v.text)
		if len(v.members) > 0 {
			out = append(out, ',')
		}
	}
	return v.appendMembers(out, '}', true)
}

func (v *value) appendMembers(out []byte, end byte, named bool) []byte {
	for i, m := range v.members {
		if i > 0 {
			out = append(out, ',')
		}
		if named {
			out = append(message.AppendText(out, m.name), ':')
		}
		if out = m.of.appendJSON(out); len(out) > maxShown {
			break
		}
	}
	return append(out, end)
}

// budget bounds how much a reader takes from one body.
type budget struct{ values int }

// spend is an error when there are too many values, or too many levels.
func (b *budget) spend(depth int) error {
	if b.values++; b.values > maxValues || depth > maxDepth {
		return errTooMuch
	}
	return nil
}
