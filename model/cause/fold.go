package cause

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// The placeholders for what differs between messages of one cause.
const (
	someValue   = "#" // a number, an id, a date, a duration, a size
	someText    = "…" // in quotes or brackets
	someIP      = "<ip>"
	someEmail   = "<email>"
	somePath    = "<path>"
	mostRead    = 4 << 10 // bytes of a text that are folded
	mostFolded  = 300     // bytes of a folded text
	mostQuoted  = 500     // bytes between two quotes
	longestWord = 64      // bytes: anything longer with a digit is an id
)

// Fold removes from an error's text what differs between messages that failed for the same reason: numbers, ids,
// addresses, paths, dates, durations and quoted values. What names the reason stays: codes of HTTP, SMTP, SQL and the
// operating system, and names of columns, fields, classes or queues. It reads 4 KiB and returns one printable line of
// at most 300 bytes.
func Fold(text string) string {
	f := folder{in: prepared(text)}
	f.out = make([]byte, 0, min(len(f.in), 2*mostFolded))
	for f.at < len(f.in) && len(f.out) < 2*mostFolded {
		f.step()
	}
	folded := strings.TrimSpace(string(f.out))
	folded = model.Escaped(strings.ReplaceAll(folded, "["+someIP+"]", someIP))
	if len(folded) > mostFolded {
		folded = strings.TrimSpace(message.WholeRunes(folded, mostFolded-len(someText))) + someText
	}
	return folded
}

// folder processes a text once, from left to right.
type folder struct {
	in     string
	at     int
	out    []byte
	words  [2]string // the last two words, newest first, in lower case
	code   codeState
	kept   bool // the last number was kept as a code
	values bool // the next bracket has the values of a statement
}

// isDelimiter reports whether a byte separates two chunks.
func isDelimiter(c byte) bool { return strings.IndexByte(" ()[]{}<>,;|!*\"'`", c) >= 0 }

func (f *folder) step() {
	c := f.in[f.at]
	switch {
	case c == '"' || c == '\'' || c == '`':
		if !f.quoted(c) {
			f.emit(c)
		}
	case c == ')' && len(f.in) > f.at+2 && f.in[f.at+1] == '=' && f.in[f.at+2] == '(': // Key (email)=(a value)
		f.write(")=(" + someText + ")")
		f.skip(f.at+2, '(', ')')
	case f.values && (c == '(' || c == '[' || c == '{'):
		f.values = false
		f.skip(f.at, c, closing(c))
		f.write(string(c) + someText + string(closing(c)))
	case isDelimiter(c):
		f.emit(c)
	case isWidePunctuation(f.in[f.at:]):
		f.write(f.in[f.at : f.at+wideLength])
		f.at += wideLength
	default:
		f.chunk()
	}
}

// closing is the bracket that closes one of ([{.
func closing(c byte) byte { return ")]}"[strings.IndexByte("([{", c)] }

func (f *folder) write(s string) { f.out = append(f.out, s...) }

// emit writes a delimiter unchanged.
func (f *folder) emit(c byte) {
	f.at++
	if c == ' ' && (len(f.out) == 0 || f.out[len(f.out)-1] == ' ') {
		return
	}
	f.out = append(f.out, c)
}

// skip moves behind the bracket that closes the one at an index; to the end if it is not closed.
func (f *folder) skip(from int, opens, closes byte) {
	depth := 0
	for f.at = from; f.at < len(f.in); f.at++ {
		switch f.in[f.at] {
		case opens:
			depth++
		case closes:
			depth--
		}
		if depth == 0 {
			f.at++
			return
		}
	}
}

// chunk folds the text up to the next delimiter or change of script.
func (f *folder) chunk() {
	end := f.chunkEnd()
	s := f.in[f.at : f.at+1+len(strings.TrimRight(f.in[f.at+1:end], ".:?=-"))]
	f.at += len(s)
	f.fold(s)
}

// apostrophe reports whether the byte at an index is an apostrophe as in "can't".
func (f *folder) apostrophe(i int) bool {
	return f.in[i] == '\'' && i > 0 && i+1 < len(f.in) && isLetter(f.in[i-1]) && isLetter(f.in[i+1]) &&
		(i < 2 || isLetter(f.in[i-2]) || f.in[i-1] == 'I')
}

// fold folds one chunk by its form.
func (f *folder) fold(s string) {
	switch {
	case strings.Contains(s, "://"):
		f.url(s)
	case isEmail(s):
		f.placeholder(someEmail)
	case isPath(s):
		if httpMethods[f.words[0]] {
			f.route(s)
		} else {
			f.placeholder(somePath)
		}
	case !strings.ContainsAny(s, asciiDigits):
		f.letters(s)
	case f.address(s), f.knownCode(s):
	case isSecret(s), isEncoded(s):
		f.value()
	default:
		f.pieces(s)
	}
}

// letters folds a chunk without digits: it stays, unless it belongs to a number or a date, or is the value of a key
// that varies by message.
func (f *folder) letters(s string) {
	if f.belongsToValue(s) {
		return
	}
	for s != "" {
		if isUUID(s) {
			f.value()
			s = s[uuidLength:]
			continue
		}
		n := 0
		for n < len(s) && (isLetter(s[n]) || s[n] >= utf8.RuneSelf || s[n] == '_' || s[n] == '\'') {
			n++
		}
		if word := s[:n]; n > 0 {
			switch {
			case f.ends("=") && valueKeys[f.words[0]]:
				f.write(someText)
			case isLetterHex(word) || f.ends(someValue+"-") && isPodSuffix(word):
				f.value()
			default:
				f.write(word)
			}
			f.word(word)
		}
		if n < len(s) {
			f.out = append(f.out, s[n])
			n++
		}
		s = s[n:]
	}
}

// pieces folds a chunk with digits, word by word.
func (f *folder) pieces(s string) {
	for s != "" {
		n := 0
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] >= utf8.RuneSelf) {
			n++
		}
		switch {
		case n == 0 && s[0] == '-' && len(s) > 1 && isDigit(s[1]) && !f.afterWord():
			n = 1 // a negative number
		case n == 0:
			n = 1
			f.out = append(f.out, s[0])
		case isUUID(s):
			n = uuidLength
			f.value()
		case !strings.ContainsAny(s[:n], asciiDigits):
			f.letters(s[:n])
		default:
			f.piece(s[:n], s[n:])
		}
		s = s[n:]
	}
}

// piece folds a word with digits; rest is the remainder of its chunk.
func (f *folder) piece(s, rest string) {
	switch {
	case f.isCode(s):
		f.keep(s)
		return
	case f.isPort(s, rest):
		f.write(s)
	case isDigit(s[0]) || isID(s) || isLettered(s) || f.ends(someValue+"-") && isPodSuffix(s):
		f.value()
	case technical[strings.ToLower(s)] || f.ends("utf-") || f.ends("UTF-") || isNumberedName(s):
		f.write(s)
		f.word(s)
		return
	default:
		for i := 0; i < len(s); {
			if !isDigit(s[i]) {
				f.out = append(f.out, s[i])
				i++
				continue
			}
			for i < len(s) && isDigit(s[i]) {
				i++
			}
			f.value()
		}
	}
	f.code, f.kept = codeState{}, false
}

// isLettered reports whether a word is one letter and a number, but not a version.
func isLettered(s string) bool {
	return isLetter(s[0]) && isDigits(s[1:]) && s[0] != 'v' && s[0] != 'V' && !technical[strings.ToLower(s)]
}

// word records a word that stays: it may explain the number or the quotes after it.
func (f *folder) word(s string) {
	lower := strings.ToLower(s)
	f.code.word(lower, f.codeKind(lower))
	f.words[1], f.words[0] = f.words[0], lower
	f.values = valueLists[lower]
	f.kept = false
}

func (f *folder) ends(s string) bool {
	return len(f.out) >= len(s) && string(f.out[len(f.out)-len(s):]) == s
}

// afterWord reports whether the output ends inside a word.
func (f *folder) afterWord() bool {
	if len(f.out) == 0 {
		return false
	}
	c := f.out[len(f.out)-1]
	return isLetter(c) || isDigit(c) || c == '#' || c >= utf8.RuneSelf
}

func (f *folder) value() { f.placeholder(someValue) }

// placeholder writes a placeholder, only once for a list: "#, #" is "#".
func (f *folder) placeholder(p string) {
	const separators = "-_.:/,;+ "
	end := len(f.out)
	for end > 0 && len(f.out)-end < 3 && strings.IndexByte(separators, f.out[end-1]) >= 0 {
		end--
	}
	if end >= len(p) && string(f.out[end-len(p):end]) == p {
		f.out = f.out[:end]
		return
	}
	f.write(p)
}

// belongsToValue reports whether a word is the unit of the number before it, or a part of a date: it is folded with it.
func (f *folder) belongsToValue(s string) bool {
	lower := strings.ToLower(s)
	rest := f.in[f.at:]
	switch {
	case f.ends(someValue+" ") && (units[lower] || months[lower] || zones[s]):
		f.out = f.out[:len(f.out)-1]
	case months[lower] && len(rest) > 1 && rest[0] == ' ' && isDigit(rest[1]):
		f.value()
	case weekdays[lower] && len(rest) > 2 && rest[0] == ',' && rest[1] == ' ' && isDigit(rest[2]):
		f.at += 2
	case weekdays[lower] && len(rest) > 4 && rest[0] == ' ' && months[strings.ToLower(rest[1:4])]:
		f.at++
	default:
		return false
	}
	return true
}

// prepared is a text on one line with plain quotes, without terminal escapes and invisible characters.
func prepared(s string) string {
	s = message.WholeRunes(s, mostRead)
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] <= '~' && (s[i] != '\\' || i+1 == len(s) || s[i+1] != '"')
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\x1b':
			size = escapeLength(s[i:])
		case r == '\\' && i+1 < len(s) && s[i+1] == '"':
		case r == '\u201c' || r == '\u201d' || r == '\u201e' || r == '\u00ab' || r == '\u00bb': // “ ” „ « »
			b.WriteByte('"')
		case r == '\u2018' || r == '\u2019': // ‘ ’
			b.WriteByte('\'')
		case r == utf8.RuneError && size == 1 || unicode.IsSpace(r) || unicode.IsControl(r):
			b.WriteByte(' ')
		case r >= utf8.RuneSelf && unicode.IsDigit(r):
			b.WriteByte('0')
		case !unicode.IsPrint(r) || model.IsHidden(r):
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// escapeLength is the length in bytes of the escape sequence at the beginning of a text.
func escapeLength(s string) int {
	if len(s) < 3 || s[1] != '[' && s[1] != ']' {
		return min(len(s), 2)
	}
	for i := 2; i < len(s); i++ {
		if s[1] == '[' && s[i] >= '@' && s[i] <= '~' || s[1] == ']' && (s[i] == '\a' || s[i] == '\\') {
			return i + 1
		}
	}
	return len(s)
}
