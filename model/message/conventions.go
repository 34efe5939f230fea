package message

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// place is the part of a message where a convention writes something.
type place string

const (
	inHeaders place = "headers" // a header; further steps of a path lead into a nested table, or into JSON text
	inBody    place = "body"    // a JSON body
)

// path leads to a value: a header or JSON key, then the keys below it.
type path []string

// reader finds in one message what conventions write.
type reader struct {
	m     *Message
	found members // nil: the body was not scanned yet
}

// haveMembers reports whether the body has members of all these names. It scans the body once, whatever is asked about
// it, and not at all where one of the names is nowhere in it.
func (r *reader) haveMembers(names ...string) bool {
	for _, name := range names {
		if !bytes.Contains(r.m.Body, []byte(name)) {
			return false
		}
	}

	if r.found == nil {
		r.found = membersOf(r.m.Body)
	}

	return r.found.have(names...)
}

// MaxEnvelope is the size in bytes up to which JSON is read for an envelope.
const MaxEnvelope = 4 << 20

// text returns the text at a spot; a JSON number counts as its text.
func (r *reader) text(s spot) (string, bool) {
	p := s.path
	if s.in == inBody {
		if !r.haveMembers(p[0]) { // most bodies are not envelopes
			return "", false
		}
		return jsonText(r.m.Body, p)
	}

	var v any = r.m.Headers
	for i, key := range p {
		if t, ok := model.AsTable(v); ok {
			v = t[key]
			continue
		}

		s, ok := model.AsText(v)
		if !ok {
			return "", false
		}
		return jsonText([]byte(s), p[i:])
	}

	text, ok := model.AsText(v)
	return strings.ToValidUTF8(text, "\uFFFD"), ok
}

func (r *reader) has(spots []spot) bool {
	for _, s := range spots {
		if _, ok := r.text(s); !ok {
			return false
		}
	}

	return true
}

// first returns the first text that is present and not empty.
func (r *reader) first(alternatives []spot) string {
	for _, at := range alternatives {
		if s, ok := r.text(at); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}

	return ""
}

// jsonText returns the text or number at a path of a JSON object. It decodes one level after the other, so that a large
// body is not decoded as a whole, and looks for the keys first. A list stands for its newest entry, or for the lines of
// a text.
func jsonText(raw []byte, p path) (string, bool) {
	if len(raw) == 0 || len(raw) > MaxEnvelope {
		return "", false
	}
	for _, key := range p {
		if !bytes.Contains(raw, []byte(`"`+key+`"`)) {
			return "", false
		}
	}

	for _, key := range p {
		var list []any
		if raw[0] == '[' {
			_ = json.Unmarshal(raw, &list)
		}
		if len(list) > 0 {
			raw, _ = json.Marshal(newestOf(list)) // it was JSON
		}

		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return "", false
		}
		var ok bool
		if raw, ok = object[key]; !ok {
			return "", false
		}
	}

	var v any
	_ = Decode(raw, &v) // nil is no text
	if n, ok := v.(json.Number); ok {
		return n.String(), true
	}

	return linesOf(v)
}

// linesOf returns a text, or a list of the lines of one.
func linesOf(v any) (string, bool) {
	list, ok := v.([]any)
	if !ok {
		return model.AsText(v)
	}

	lines := make([]string, len(list))
	for i := range list {
		if lines[i], ok = model.AsText(list[i]); !ok {
			return "", false
		}
	}

	return strings.Join(lines, "\n"), len(list) > 0
}
