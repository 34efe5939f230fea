package serial

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is a value in a structure. It can occur in several others, and in itself.
type Value struct {
	Kind    Kind
	Text    string // for a literal, a text or bytes; an object's class, "" without one
	Members []Member
}

// Member is an element of a list, which has no name, or a member of an object.
type Member struct {
	Name string
	Key  *Value // if the name is not a text: the value whose JSON it is; otherwise nil
	Of   *Value

	From, To int // its position in PHP's text
}

type Kind int

// The kinds. Text of a Literal is as in JSON.
const (
	Literal Kind = iota
	Text
	Bytes
	List
	Object
)

// maxDepth is how many levels are written: values can contain themselves.
const maxDepth = 64

// Of makes a literal as in JSON.
func Of(literal string) *Value { return &Value{Text: literal} }

func OfText(s string) *Value { return &Value{Kind: Text, Text: s} }

func OfInt(n int64) *Value { return Of(strconv.FormatInt(n, 10)) }

// OfFloat makes a number, or the name of one that JSON cannot write.
func OfFloat(f float64, bits int) *Value {
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return OfText(s)
	}
	return Of(s)
}

// OfBytes returns bytes, as text if they are one.
func OfBytes(b []byte) *Value {
	if utf8.Valid(b) && !LooksBinary(b) {
		return OfText(string(b))
	}
	return &Value{Kind: Bytes, Text: string(b)}
}

// Add adds a member, or an element with no name.
func (v *Value) Add(name string, of *Value) {
	v.Members = append(v.Members, Member{Name: name, Of: of})
}

// Put adds a member under a key of any kind.
func (v *Value) Put(key, of *Value) {
	m := Member{Key: key, Of: of}
	if key.Kind == Text || key.Kind == Literal {
		m = Member{Name: key.Text, Of: of}
	}
	v.Members = append(v.Members, m)
}

// Member returns the member with a name, nil without one.
func (v *Value) Member(name string) *Value {
	if v == nil {
		return nil
	}
	for _, m := range v.Members {
		if m.Name == name && m.Key == nil {
			return m.Of
		}
	}

	return nil
}

// JSON writes a value as JSON: an object of a class is {"$class": NAME, …}, bytes are {"$bytes": BASE64}. What is too
// deep, or exceeds most bytes, is left out: whole is then false.
func (v *Value) JSON(most int) (text []byte, whole bool) {
	w := writer{most: most}
	text = w.value(nil, v, 0)
	return text, !w.cut
}

type writer struct {
	most int // in bytes
	cut  bool
}

func (w *writer) value(out []byte, v *Value, depth int) []byte {
	if len(out)+len(v.Text) > w.most || depth > maxDepth {
		w.cut = true
		return append(out, `"…"`...)
	}

	switch v.Kind {
	case Literal:
		return append(out, v.Text...)
	case Text:
		return AppendText(out, v.Text)
	case Bytes:
		encoded := base64.StdEncoding.EncodeToString([]byte(v.Text))
		return append(AppendText(append(out, `{"$bytes":`...), encoded), '}')
	case List:
		return w.members(append(out, '['), v, depth, ']')
	}

	out = append(out, '{')
	if v.Text != "" {
		out = AppendText(append(out, `"$class":`...), v.Text)
		if len(v.Members) > 0 {
			out = append(out, ',')
		}
	}

	return w.members(out, v, depth, '}')
}

func (w *writer) members(out []byte, v *Value, depth int, end byte) []byte {
	for i, m := range v.Members {
		if i > 0 {
			out = append(out, ',')
		}
		if m.Key != nil { // it may contain itself: one level is enough
			m.Name = string(w.value(nil, m.Key, max(depth+1, maxDepth-1)))
		}
		if v.Kind == Object {
			out = append(AppendText(out, m.Name), ':')
		}

		if out = w.value(out, m.Of, depth+1); len(out) > w.most {
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
