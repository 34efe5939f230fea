package cause

import (
	"strings"
	"unicode/utf8"
)

// quoted folds quoted text: a value is removed, the name of a column, a field, a class or a queue stays. It is false
// when the quote is not closed.
func (f *folder) quoted(quote byte) bool {
	if f.at > 0 && (isLetter(f.in[f.at-1]) || isDigit(f.in[f.at-1])) && !f.prefixed() {
		return false
	}
	text, end := f.between(quote)
	if end < 0 {
		return false
	}
	from := f.at
	rest := f.in[end:]
	whole := strings.TrimSpace(f.in[:from]) == "" && strings.Trim(rest, " .!") == ""
	closes := f.in[end-1]
	sentence := strings.Count(text, " ") > 1
	switch {
	case strings.HasPrefix(text, "{") && namesCode(text),
		whole && sentence, f.kept && f.ends(", ") && sentence, f.kept && f.ends(", b") && sentence:
		f.write(string(quote) + Fold(text) + string(closes))
	case isSymbol(text), isName(text) && (whole || quote == '`' || f.named(rest)):
		f.write(string(quote))
		f.at = end
		f.write(withoutNumbers(text))
		f.word(text)
		f.write(string(closes))
	default:
		f.write(string(quote) + someText + string(closes))
		f.collapse(quote, closes)
	}
	f.at = end
	f.code, f.kept = codeState{}, false
	return true
}

// prefixed reports whether the letter before a quote is Python's: b'…', u'…'.
func (f *folder) prefixed() bool {
	c := f.in[f.at-1]
	return (c == 'b' || c == 'u' || c == 'r') && (f.at == 1 || isDelimiter(f.in[f.at-2]))
}

// between is the text in the quotes that open here, and the index behind the closing one; -1 without one. Ruby's
// `opening ends with a plain quote'.
func (f *folder) between(quote byte) (text string, end int) {
	limit := min(len(f.in), f.at+1+mostQuoted)
	if end := f.object(quote, limit); end > 0 {
		return f.in[f.at+1 : end-1], end
	}
	for i := f.at + 1; i < limit; i++ {
		c := f.in[i]
		if c != quote && (quote != '`' || c != '\'') {
			continue
		}
		if c == '\'' && i+1 < len(f.in) && (isLetter(f.in[i+1]) || isDigit(f.in[i+1])) {
			continue
		}
		return f.in[f.at+1 : i], i + 1
	}
	return "", -1
}

// object is the index behind the quote that closes JSON with quotes inside: "{"id":12}"; 0 when this is not quoted
// JSON.
func (f *folder) object(quote byte, limit int) int {
	if f.at+1 >= limit || f.in[f.at+1] != '{' && f.in[f.at+1] != '[' {
		return 0
	}
	end := strings.IndexByte(f.in[f.at:limit], closing(f.in[f.at+1]))
	for end > 0 {
		if at := f.at + end + 1; at < limit && f.in[at] == quote {
			return at + 1
		}
		next := strings.IndexByte(f.in[f.at+end+1:limit], closing(f.in[f.at+1]))
		if next < 0 {
			return 0
		}
		end += next + 1
	}
	return 0
}

// namesCode reports whether JSON has a member that names the reason.
func namesCode(object string) bool {
	return containsAny(object, `"code":`, `"error":`, `"type":`, `"reason":`, `"status":`, `"errorCode":`)
}

// collapse merges a list of folded quotes into one.
func (f *folder) collapse(opens, closes byte) {
	one := string(opens) + someText + string(closes)
	for _, separator := range []string{", ", ",", " "} {
		if f.ends(one + separator + one) {
			f.out = f.out[:len(f.out)-len(one)-len(separator)]
			return
		}
	}
}

// withoutNumbers is a name unchanged except for its numbers.
func withoutNumbers(name string) string {
	if !strings.ContainsAny(name, asciiDigits) {
		return name
	}
	inner := folder{in: name, at: len(name)}
	inner.pieces(name)
	return string(inner.out)
}

// named reports whether the words around quotes say that they contain a name of the program, the schema or the broker.
// rest is what follows the quotes.
func (f *folder) named(rest string) bool {
	if nounsBefore[f.words[0]] && !strings.Contains(string(f.out[max(len(f.out)-2, 0):]), "=") {
		return true
	}
	if (f.ends(": ") || f.ends(":") || f.ends("=")) && codeKeys[f.words[0]] {
		return true
	}
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, ":") { // a key of JSON
		return f.ends("{") || f.ends(",") || f.ends(", ") || f.ends("{ ")
	}
	return hasPrefixOf(rest, nounsBehind)
}

// isSymbol reports whether quotes contain a character that a parser names.
func isSymbol(s string) bool {
	return s != "" && len(s) <= 2 && !strings.ContainsFunc(s, func(r rune) bool {
		return r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r)))
	})
}

// isName reports whether a text looks like a name that a programmer chose.
func isName(s string) bool {
	if s == "" || len(s) > longestWord || isDigit(s[0]) || isEmail(s) {
		return false
	}
	digits := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case isDigit(c):
			if digits++; digits > 4 {
				return false
			}
		case isLetter(c) || strings.IndexByte(`_.\:$#?!@-/[]`, c) >= 0:
		default:
			return false
		}
	}
	return isLetter(s[0]) || s[0] == '_' || s[0] == '\\' || s[0] == '@' || s[0] == '$'
}

// nounsBefore are words after which quotes contain a name.
var nounsBefore = set("nounsBefore")

// codeKeys are keys after which quotes contain a code that names the reason.
var codeKeys = set("codeKeys")

// nounsBehind are words that follow a quoted name.
var nounsBehind = lines("nounsBehind")
