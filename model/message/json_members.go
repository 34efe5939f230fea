package message

import "bytes"

// hasMembers reports whether a text that begins like a JSON object has all of these members, in one pass over it and
// without making values of it: a worker's words inside of a text or a nested object are no evidence. It does not check
// that the text is JSON.
func hasMembers(text []byte, names []string) bool {
	if len(names) == 0 {
		return true
	}
	for _, name := range names { // most bodies do not have the words at all
		if !bytes.Contains(text, []byte(name)) {
			return false
		}
	}
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	var found uint64
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := endOfText(text, i+1)
			if depth == 1 && isMember(text[end:]) {
				found |= memberBit(text[i+1:end-1], names)
			}
			i = end
			continue
		}
		i++
	}
	return found == 1<<len(names)-1
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

func memberBit(name []byte, names []string) uint64 {
	for i, n := range names {
		if string(name) == n {
			return 1 << i
		}
	}
	return 0
}
