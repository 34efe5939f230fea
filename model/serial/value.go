package serial

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Value is a value in a structure.
type Value struct {
	Kind    Kind
	Text    string // for a literal or a text; an object's class, "" without one
	Members []Member
}

// Member is an element of a list, which has no name, or a member of an object.
type Member struct {
	Name string
	Of   *Value

	From, To int // its position in PHP's text
}

type Kind int

// The kinds. Text of a Literal is as in JSON.
const (
	Literal Kind = iota
	Text
	List
	Object
)

// literal makes a value as in JSON.
func literal(text string) *Value { return &Value{Text: text} }

func textual(text string) *Value { return &Value{Kind: Text, Text: text} }

// Member returns the member with a name, nil without one.
func (v *Value) Member(name string) *Value {
	if v == nil {
		return nil
	}
	for _, m := range v.Members {
		if m.Name == name {
			return m.Of
		}
	}

	return nil
}

// JSON writes a value as JSON: an object of a class is {"$class": NAME, …}. What exceeds most bytes is left out, and
// whole is then false.
func (v *Value) JSON(most int) (text []byte, whole bool) {
	w := writer{most: most}
	text = w.value(nil, v)
	return text, !w.cut
}

type writer struct {
	most int // in bytes
	cut  bool
}

func (w *writer) value(out []byte, v *Value) []byte {
	if len(out)+len(v.Text) > w.most {
		w.cut = true
		return append(out, `"…"`...)
	}

	switch v.Kind {
	case Literal:
		return append(out, v.Text...)
	case Text:
		return AppendText(out, v.Text)
	case List:
		return w.members(append(out, '['), v, ']')
	}

	out = append(out, '{')
	if v.Text != "" {
		out = AppendText(append(out, `"$class":`...), v.Text)
		if len(v.Members) > 0 {
			out = append(out, ',')
		}
	}

	return w.members(out, v, '}')
}

func (w *writer) members(out []byte, v *Value, end byte) []byte {
	for i, m := range v.Members {
		if i > 0 {
			out = append(out, ',')
		}
		if v.Kind == Object {
			out = append(AppendText(out, m.Name), ':')
		}

		if out = w.value(out, m.Of); len(out) > w.most {
			w.cut = true
			break
		}
	}

	return append(out, end)
}

// AppendText writes a text as JSON, with U+FFFD in place of invalid UTF-8.
func AppendText(out []byte, s string) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(s, "\uFFFD")) // a text can always be encoded
	return append(out, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// LooksBinary reports whether bytes are unlikely to be text: they contain NUL, or many control characters.
func LooksBinary(b []byte) bool {
	controls := 0
	for _, c := range b {
		switch {
		case c == 0:
			return true
		case c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b:
			controls++
		}
	}

	return controls > len(b)/10
}
