package message

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// members is a set of member names of a JSON object, limited to those that identify frameworks.
type members uint64

// memberBits has a bit for each of these names.
var memberBits = bitsOfMembers()

func bitsOfMembers() map[string]members {
	bits := map[string]members{}
	add := func(name string) {
		if bits[name] == 0 {
			bits[name] = 1 << len(bits) // a test keeps them below 64
		}
	}

	first := func(lists ...[]spot) {
		for _, s := range slices.Concat(lists...) {
			if s.in == inBody {
				add(s.path[0])
			}
		}
	}

	for _, k := range frameworks {
		for _, e := range k.Evidence {
			for _, name := range e.Members {
				add(name)
			}
		}

		for _, f := range k.Failures {
			first(f.Needs, f.Kind, f.Message, f.Trace)
		}

		first(k.Task, k.Eta, k.Expires, k.Stale, k.Left, k.Stack, k.FailedAt)
		for _, c := range k.Tries {
			first([]spot{c.At})
		}

		if o := k.Origin; o != nil {
			first(o.Needs, []spot{o.Exchange, o.Key})
		}
	}

	return bits
}

// membersOf finds the members of a body that begins like a JSON object, in one pass and without decoding values: a word
// inside a text or a nested object does not count.
func membersOf(text []byte) (found members) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || len(text) > MaxEnvelope || text[0] != '{' {
		return 0
	}
	for p := range JSONParts(text) {
		found |= memberBits[string(p.Quoted[1:len(p.Quoted)-1])]
	}

	return found
}

// JSONPart is a member of a JSON object, or an element of an array, by its position in the text.
type JSONPart struct {
	Quoted          []byte // a member's name with its quotes, as written; nil for an element
	Begin, From, To int    // where it begins, and where its value begins and ends
}

func (p JSONPart) Name() (name string) {
	_ = json.Unmarshal(p.Quoted, &name)
	return name
}

// JSONParts iterates over the members of a JSON object, or the elements of an array, in one pass. It does not check
// that the text is JSON: it stops at the first error.
func JSONParts(text []byte) iter.Seq[JSONPart] {
	return func(yield func(JSONPart) bool) {
		at := spaceAt(text, 0)
		object := at < len(text) && text[at] == '{'
		for {
			at = spaceAt(text, at+1)
			if at == len(text) || text[at] == '}' || text[at] == ']' {
				return
			}
			p := JSONPart{Begin: at}
			if object {
				if text[at] != '"' {
					return
				}
				p.Quoted = text[at:EndOfText(text, at+1)]
				if at = spaceAt(text, at+len(p.Quoted)); at == len(text) || text[at] != ':' {
					return
				}
				at = spaceAt(text, at+1)
			}

			p.From, p.To = at, valueAt(text, at)
			if at = spaceAt(text, p.To); !yield(p) || at == len(text) || text[at] != ',' {
				return
			}
		}
	}
}

func spaceAt(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return min(at, len(text))
}

func valueAt(text []byte, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			if at = EndOfText(text, at+1) - 1; depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // it ends the object or array with the number before it
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
	}

	return at
}

// has reports whether a name is in the set; it must be a name that a framework writes.
func (s members) has(name string) bool { return s&memberBits[name] != 0 }

// hasAll reports whether all names are in the set.
func (s members) hasAll(names []string) bool {
	for _, name := range names {
		if !s.has(name) {
			return false
		}
	}

	return true
}

// EndOfText returns the index after the closing quote of a JSON string; at is the index after its opening quote.
func EndOfText(text []byte, at int) int {
	for at < len(text) {
		next := bytes.IndexByte(text[at:], '"')
		if next < 0 {
			return len(text)
		}
		at += next
		escapes := 0
		for at-1-escapes >= 0 && text[at-1-escapes] == '\\' {
			escapes++
		}

		at++
		if escapes%2 == 0 {
			return at
		}
	}

	return len(text)
}
