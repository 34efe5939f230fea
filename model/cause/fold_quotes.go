package cause

import (
	"regexp"
	"strings"
)

// quotes match quoted text. JSON may have quotes inside: "{"id":12}". No letter follows a plain quote, and Ruby's
// `opening ends with a plain quote'.
var quotes = map[byte]*regexp.Regexp{
	'"':  begin(`"(\{.*?\}|\[.*?\]|[^"]*)"`),
	'\'': begin(`'(\{.*?\}|\[.*?\]|.*?)'()(?:[^A-Za-z\d]|$)`),
	'`':  begin("`(\\{.*?\\}|\\[.*?\\]|[^`]*?)(?:`|'()(?:[^A-Za-z\\d]|$))"),
}

// quoted folds quoted text: a value is removed, the name of a column, a field, a class or a queue stays. It is false
// when the quote is not closed.
func (f *folder) quoted(quote byte) bool {
	if f.at > 0 && (isLetter(f.in[f.at-1]) || isDigit(f.in[f.at-1])) && !f.prefixed() {
		return false
	}
	m := quotes[quote].FindStringSubmatchIndex(f.ahead())
	if m == nil {
		return false
	}

	text, end := f.in[f.at+m[2]:f.at+m[3]], f.at+m[3]+1
	opens, closes, rest := string(quote), f.in[end-1:end], f.in[end:]
	whole := strings.TrimSpace(f.in[:f.at]) == "" && strings.Trim(rest, " .!") == ""
	sentence := strings.Count(text, " ") > 1
	f.at = end
	switch {
	case strings.HasPrefix(text, "{") && namesCode(text), sentence && (whole || tupleBegin.Match(f.out)):
		f.write(opens + Fold(text) + closes)
	case isSymbol(text), isName(text) && (whole || quote == '`' || f.named(rest)):
		f.write(opens + withoutNumbers(text) + closes)
		f.remember(text)
	default:
		f.list(opens + someText + closes)
	}

	return true
}

// prefixed reports whether the letter before a quote is Python's: b'…', u'…'.
func (f *folder) prefixed() bool {
	c := f.in[f.at-1]
	return (c == 'b' || c == 'u' || c == 'r') && (f.at == 1 || isDelimiter(f.in[f.at-2]))
}

// namesCode reports whether JSON has a member that names the reason.
func namesCode(object string) bool {
	return containsAny(object, `"code":`, `"error":`, `"type":`, `"reason":`, `"status":`, `"errorCode":`)
}

// list writes folded quotes, only once for a list of them.
func (f *folder) list(folded string) {
	for _, separator := range []string{", ", ",", " "} {
		if f.ends(folded + separator) {
			f.out = f.out[:len(f.out)-len(separator)]
			return
		}
	}
	f.write(folded)
}

// withoutNumbers returns a name unchanged except for its numbers.
func withoutNumbers(name string) string {
	if !strings.ContainsAny(name, asciiDigits) {
		return name
	}
	inner := folder{in: name, end: len(name)}
	for inner.at < len(name) {
		inner.piece()
	}
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
func isSymbol(s string) bool { return len(s) <= 2 && symbol.MatchString(s) }

// isName reports whether a text looks like a name that a programmer chose.
func isName(s string) bool {
	return name.MatchString(s) && !manyDigits.MatchString(s) && !email().MatchString(s)
}

var (
	symbol     = regexp.MustCompile(`^[^A-Za-z\d]+$`)
	name       = regexp.MustCompile(`^[A-Za-z_\\@$][\w.\\:$#?!@/\[\]-]{0,63}$`)
	manyDigits = regexp.MustCompile(`(?:\d\D*){5}`)
)

// nounsBefore are words after which quotes contain a name.
var nounsBefore = set("nounsBefore")

// codeKeys are keys after which quotes contain a code that names the reason.
var codeKeys = set("codeKeys")

// nounsBehind are words that follow a quoted name.
var nounsBehind = lines("nounsBehind")

var tupleBegin = regexp.MustCompile(`\(\d{3,5}, $`)
