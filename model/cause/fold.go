package cause

import (
	"regexp"
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
	mostQuoted  = 500     // bytes that a rule reads ahead, so also between two quotes
	longestWord = 64      // bytes: anything longer with a digit is an id
	mostNear    = 96      // bytes behind a word that most rules read
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
	in    string
	at    int
	end   int // of the chunk that is processed: text between two delimiters, or of one script
	out   []byte
	words [2]string // the last two words that stay, newest first, in lower case
}

// isDelimiter reports whether a byte separates two chunks.
func isDelimiter(c byte) bool { return strings.IndexByte(delimiters, c) >= 0 }

const delimiters = " ()[]{}<>,;|!*\"'`"

// step folds what begins here by the first rule that matches, and copies a word or a character without one.
func (f *folder) step() {
	c := f.in[f.at]
	switch {
	case f.at < f.end:
		f.piece()
	case c == '"' || c == '\'' || c == '`':
		if !f.quoted(c) {
			f.emit(c)
		}
	case c == ')':
		if !f.apply(rules().Closing, "", f.ahead()) {
			f.emit(c)
		}
	case isDelimiter(c):
		f.emit(c)
	case isWidePunctuation(f.in[f.at:]):
		f.copy(wideLength)
	default:
		f.chunk()
	}
}

// ahead returns the text that a rule may read.
func (f *folder) ahead() string { return f.in[f.at:min(len(f.in), f.at+mostQuoted)] }

// chunk folds a chunk that is one value as a whole, or begins with its pieces.
func (f *folder) chunk() {
	s := f.in[f.at:f.chunkEnd()]
	if trimmed := strings.TrimRight(s, ".:?=-"); trimmed != "" {
		s = trimmed
	}

	f.end = f.at + len(s)
	if !strings.ContainsAny(s, asciiDigits+`/\@`) || !f.apply(rules().Chunk, s, s) {
		f.piece()
	}
}

// piece folds a word of a chunk, or copies the character before it.
func (f *folder) piece() {
	s := f.word()
	switch {
	case s == "":
		if f.afterWord() || !f.apply(rules().Number, s, f.ahead()) {
			f.copy(1)
		}
		return
	case strings.ContainsAny(s, asciiDigits):
		if f.apply(rules().Number, s, f.ahead()) || f.apply(rules().Mixed, s, s) {
			return
		}
	default:
		if f.apply(announced()[strings.ToLower(strings.Trim(s, "_'"))], s, f.ahead()) || f.apply(rules().Word, s, f.ahead()) {
			return
		}
	}

	f.copy(len(s))
	f.remember(s)
}

// word returns the word that begins here, "" without one. One without digits may have an underscore or an apostrophe.
func (f *folder) word() string {
	s := f.in[f.at:f.end]
	n := 0
	for n < len(s) && isLetterOrDigit(s[n]) {
		n++
	}

	if strings.ContainsAny(s[:n], asciiDigits) {
		return s[:n]
	}
	for n < len(s) && (isLetter(s[n]) || s[n] >= utf8.RuneSelf || s[n] == '_' || s[n] == '\'') {
		n++
	}

	if n < len(s) && isDigit(s[n]) {
		n = strings.LastIndexAny(s[:n], "_'") + 1
	}

	return s[:n]
}

// remember records a word that stays: it may explain the quotes after it.
func (f *folder) remember(word string) { f.words[1], f.words[0] = f.words[0], strings.ToLower(word) }

// apply folds what begins here by the first rule that matches, and reports whether there was one: s is the word or
// chunk that begins here, and text what a pattern may read.
func (f *folder) apply(list []rule, s, text string) bool {
	for r := range model.Each(list) {
		if !f.ends(r.After) || !strings.Contains(s, r.Has) || r.when != nil && !r.when(f, s) {
			continue
		}
		if r.pattern == nil {
			f.fold(r, s, []int{0, len(s)})
			return true
		}
		read := text
		if !r.Far {
			read = text[:min(len(text), len(s)+mostNear)]
		}
		if m := r.pattern().FindStringSubmatchIndex(read); m != nil {
			f.fold(r, read, m)
			return true
		}
	}

	return false
}

// fold writes what a rule makes of its match, and moves behind it.
func (f *folder) fold(r *rule, text string, m []int) {
	if last := len(m) - 2; last > 0 && m[last] == m[last+1] && m[last] > 0 {
		m[1] = m[last] // what follows an empty group is only looked at
	}
	f.at += m[1]
	if f.at > f.end && f.at < len(f.in) && !isDelimiter(f.in[f.at]) {
		f.end = f.chunkEnd()
	}

	group := func(n int) string { return text[max(m[2*n], 0):max(m[2*n+1], 0)] }
	switch r.Out {
	case someValue, someEmail, somePath:
		f.placeholder(r.Out)
	case asAddress:
		f.placeholder(someIP)
		f.port(group(1))
		f.remember(someIP)
	case asURL:
		f.write(group(1))
		f.url(group(2), group(3))
	case asRoute:
		f.write(route(group(0)))
	case same:
		f.write(group(0))
	case asName:
		f.write(digits.ReplaceAllString(group(0), someValue))
	case asUnit:
		f.out = f.out[:len(f.out)-1]
	default:
		f.out = r.pattern().ExpandString(f.out, r.Out, text, m)
	}
}

func (f *folder) write(s string) { f.out = append(f.out, s...) }

// copy writes bytes unchanged.
func (f *folder) copy(n int) {
	f.write(f.in[f.at : f.at+n])
	f.at += n
}

// emit writes a delimiter unchanged.
func (f *folder) emit(c byte) {
	f.at++
	if c == ' ' && (len(f.out) == 0 || f.out[len(f.out)-1] == ' ') {
		return
	}
	f.out = append(f.out, c)
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
	return isLetterOrDigit(c) || c == '#'
}

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

// prepared returns a text on one line with plain quotes, without terminal escapes and invisible characters.
func prepared(s string) string {
	s = message.WholeRunes(s, mostRead)
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) < 0 {
		return s
	}
	s = strings.ReplaceAll(terminalEscape.ReplaceAllString(s, ""), `\"`, `"`)

	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("\u201c\u201d\u201e\u00ab\u00bb", r): // “ ” „ « »
			return '"'
		case r == '\u2018' || r == '\u2019': // ‘ ’
			return '\''
		case r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case r >= utf8.RuneSelf && unicode.IsDigit(r):
			return '0'
		case !unicode.IsPrint(r) || model.IsHidden(r):
			return -1
		}
		return r
	}, s)
}

var terminalEscape = regexp.MustCompile(`(?s)\x1b(?:\[[^@-~]*[@-~]?|\][^\a\\]*[\a\\]?|.?)`)
