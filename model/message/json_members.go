package message

import "bytes"

// members is a set of names of members that a JSON object has: of those by which the frameworks' bodies are known.
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
	first := func(in place, paths ...path) {
		for _, p := range paths {
			if in == inBody {
				add(p[0])
			}
		}
	}
	for i := range frameworks {
		k := &frameworks[i]
		for _, e := range k.evidence {
			for _, name := range e.members {
				add(name)
			}
		}
		for _, f := range k.failures {
			for _, paths := range [][]path{f.needs, f.kind, f.message, f.trace} {
				first(f.in, paths...)
			}
		}
		for _, spots := range [][]spot{k.task, k.eta, k.expires, k.stale, k.left} {
			for _, s := range spots {
				first(s.in, s.path)
			}
		}
		for _, c := range k.tries {
			first(c.in, c.path)
		}
	}
	for _, o := range originConventions {
		first(o.in, append(o.needs, o.exchange, o.key)...)
	}
	return bits
}

// membersOf reads the names of a body that begins like a JSON object, in one pass over it and without making values of
// it: a word inside of a text or a nested object is no member.
func membersOf(text []byte) (found members) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || len(text) > MaxEnvelope || text[0] != '{' {
		return 0
	}
	eachMember(text, func(from, end int) (next int, more bool) {
		found |= memberBits[string(text[from+1:end-1])]
		return end, true
	})
	return found
}

// eachMember finds the names of the members of a JSON object, each from one index to another, with its quotes. It goes
// on where member says, as long as that wants more. It does not check that the text is JSON.
func eachMember(text []byte, member func(from, end int) (next int, more bool)) {
	depth := 0
	for i, more := 0, true; i < len(text) && more; {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return
			}
		case '"':
			from, end := i, EndOfText(text, i+1)
			if i = end; depth == 1 && isMember(text[end:]) {
				i, more = member(from, end)
			}
			continue
		}
		i++
	}
}

// has reports whether a name is among them; it must be one that a framework writes.
func (s members) has(name string) bool { return s&memberBits[name] != 0 }

// hasAll reports whether all names are among them.
func (s members) hasAll(names []string) bool {
	for _, name := range names {
		if !s.has(name) {
			return false
		}
	}
	return true
}

// EndOfText is behind the quote that ends the JSON text which begins here, behind its first quote.
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

// isMember reports whether what follows a text makes it the name of a member.
func isMember(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
