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
// it: a word inside of a text or a nested object is no member. It does not check that the body is JSON.
func membersOf(text []byte) (found members) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || len(text) > MaxEnvelope || text[0] != '{' {
		return 0
	}
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return found
			}
		case '"':
			end := endOfText(text, i+1)
			if depth == 1 && isMember(text[end:]) {
				found |= memberBits[string(text[i+1:end-1])]
			}
			i = end
			continue
		}
		i++
	}
	return found
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

// endOfText is behind the quote that ends the JSON text which begins here.
func endOfText(text []byte, at int) int {
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
