package message

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// members are the names of the members of a JSON object, as written.
type members [][]byte

// membersOf finds the members of a body that begins like a JSON object, in one pass and without decoding values: a word
// inside a text or a nested object does not count.
func membersOf(text []byte) members {
	found := make(members, 0, 8)
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || len(text) > MaxEnvelope || text[0] != '{' {
		return found
	}
	for p := range JSONParts(text) {
		found = append(found, p.Quoted[1:len(p.Quoted)-1])
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

// have reports whether all of these are names of members.
func (s members) have(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(s, func(member []byte) bool { return string(member) == name })
	})
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
