package cause

import (
	"bytes"
	_ "embed" // the rules
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
)

// rule folds what its pattern matches. Of the rules that are tried the first one that matches counts.
type rule struct {
	Words   string // the section of the vocabulary with the words at which it is tried
	After   string // what the output must end with
	Has     string // what the word or chunk must contain
	When    string // the name of a condition
	Pattern string
	Far     bool   // the pattern reads up to mostQuoted bytes, not only mostNear
	Out     string // a placeholder, or a template of Regexp.Expand

	when    func(f *folder, s string) bool // of the word or chunk that begins here
	pattern func() *regexp.Regexp          // nil: the word or chunk
}

// Results that no template says.
const (
	same      = "$0"
	asURL     = "URL"
	asRoute   = "route"
	asAddress = "address"
	asName    = "name" // without its digits
	asUnit    = "unit" // nothing, nor the space before it
)

//go:embed fold_rules.toml
var rulesFile string

// rulesOf are those of fold_rules.toml, by what they fold, with the parts of their patterns.
type rulesOf struct {
	Parts                                          map[string]string
	Closing, Chunk, Announced, Word, Number, Mixed []rule
}

var rules = sync.OnceValue(func() (file rulesOf) {
	if _, err := toml.Decode(rulesFile, &file); err != nil {
		panic(err)
	}
	for _, list := range [][]rule{file.Closing, file.Chunk, file.Announced, file.Word, file.Number, file.Mixed} {
		for r := range model.Each(list) {
			r.when = conditions[r.When]
			if r.Pattern != "" {
				r.pattern = sync.OnceValue(func() *regexp.Regexp { return begin(expanded(r.Pattern, file.Parts)) })
			}
		}
	}

	return file
})

// conditions are what rules ask by name.
var conditions = map[string]func(f *folder, s string) bool{
	"after method": afterMethod, "short": isShort, "secret": isSecret, "named code": isNamedCode, "in HTTP": inHTTP,
	"unit": isUnit, "long hex": isLongHex, "reply": isReply, "begins": begins, "in SQL": inSQL, "port": isPort,
	"empty": isEmpty, "technical": isTechnical, "id": isID, "long name": isLongName,
}

var partOrSection = regexp.MustCompile(`<(\w+)>`)

// expanded returns a pattern with its parts, and with the words of sections of the vocabulary, in place of their names.
func expanded(pattern string, parts map[string]string) string {
	return partOrSection.ReplaceAllStringFunc(pattern, func(name string) string {
		name = strings.Trim(name, "<>")
		if part, is := parts[name]; is {
			return expanded(part, parts)
		}
		return `(?:` + strings.Join(list(name), "|") + `)\b`
	})
}

// begin compiles a pattern that matches where it is tried.
func begin(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)`) }

// announced are the rules of each word that announces something.
var announced = sync.OnceValue(func() map[string][]rule {
	words := map[string][]rule{}
	for _, r := range rules().Announced {
		for _, word := range list(r.Words) {
			words[word] = append(words[word], r)
		}
	}
	return words
})

var digits = regexp.MustCompile(`\d+`)

// isUnit reports whether a word after a number is its unit, or a part of a date.
func isUnit(_ *folder, word string) bool {
	lower := strings.ToLower(word)
	return units[lower] || months[lower] || zones[word]
}

// isNamedCode reports whether "code" means a code of an error, not of a country or a coupon.
func isNamedCode(f *folder, _ string) bool {
	before := strings.TrimRight(string(f.out), " -")
	if before == "" || !isLetterOrDigit(before[len(before)-1]) && before[len(before)-1] != someValue[0] {
		return true // first in the text, or after punctuation: "(code 1205)"
	}
	name := f.words[0]
	if codeLinks[name] { // "failed with code 5"
		name = f.words[1]
	}
	return codeNames[name]
}

// inHTTP reports whether the text so far is about HTTP: "HTTP", a URL, or a status.
func inHTTP(f *folder, _ string) bool {
	before := strings.ToLower(f.in[:f.at])
	return strings.Contains(before, "http") || strings.Contains(before, "status")
}

func isShort(_ *folder, s string) bool { return len(s) <= longestWord }

func isReply(_ *folder, s string) bool { return len(s) == 3 }

func isEmpty(_ *folder, s string) bool { return s == "" }

func isLongHex(_ *folder, word string) bool { return len(word) >= 8 && isHex(word) }

func afterMethod(f *folder, _ string) bool { return httpMethods[f.words[0]] }

func inSQL(f *folder, _ string) bool { return bytes.Contains(f.out, []byte("SQLSTATE")) }

// begins reports whether a text, a part of it after a colon, or a bracket begins with a number like a reply.
func begins(f *folder, s string) bool {
	return isReply(f, s) && (len(f.out) == 0 || f.ends(": ") || f.ends("("))
}

// isPort reports whether a number is a service's port: after a host, or after the word port.
func isPort(f *folder, number string) bool {
	rest := f.in[f.at+len(number) : f.end]
	if rest != "" && rest[0] != '/' || !services[number] {
		return false
	}
	if f.words[0] == "port" && (f.ends(" ") || f.ends("=") || f.ends(":")) {
		return true
	}
	text := string(f.out)
	return f.ends(":") && (len(number) > 3 || f.ends("localhost:") ||
		strings.Contains(text[strings.LastIndexAny(text, " (\"'")+1:], "."))
}

// isID reports whether a word with digits is machine-made: hexadecimal, base 32, 36, 58 or 64, or longer than any name.
func isID(_ *folder, word string) bool {
	groups := len(digits.FindAllStringIndex(word, -1))
	letters := len(digits.ReplaceAllString(word, ""))
	return len(word) > longestWord || isHex(word) && len(word) >= 6 || groups > 1 && letters <= 5*groups+4
}

func isTechnical(f *folder, word string) bool {
	return technical[strings.ToLower(word)] || f.ends("utf-") || f.ends("UTF-")
}

// isSecret reports whether text of base64's characters is not a name.
func isSecret(_ *folder, text string) bool {
	if len(text) < 20 {
		return false
	}
	count := func(characters string) (n int) {
		for i := range len(text) {
			n += strings.Count(characters, text[i:i+1])
		}
		return n
	}

	lower, upper, digits := count(asciiLower), count(asciiCapitals), count(asciiDigits)
	mixed := lower > 3 && upper > 3 && digits > 1
	signs := lower+upper+digits < len(text)

	return mixed && (signs || digits+upper > 8)
}

// isLongName reports whether most of a word with a number are letters.
func isLongName(_ *folder, word string) bool {
	return len(word) == 2 || len(digits.ReplaceAllString(word, "")) >= 6
}

// url writes a URL's host, and the first word of its path: never the user.
func (f *folder) url(host, path string) {
	name, port, _ := strings.Cut(host, ":")
	inner := folder{in: name}
	for inner.at < len(name) {
		inner.step()
	}

	f.out, f.words = append(f.out, inner.out...), inner.words
	f.port(port)
	f.write(route(path))
}

// port writes a service's port, or a placeholder for a connection's port.
func (f *folder) port(port string) {
	switch {
	case port == "":
	case services[port]:
		f.write(":" + port)
	default:
		f.write(":" + someValue)
	}
}

// route returns a URL's path up to its first word: ids follow.
func route(path string) string {
	m := routed.FindStringSubmatch(path)
	if m[2] == "" || m[2] == "/" {
		return m[1]
	}
	return m[1] + "/" + someText
}

// routed has the words that every path of an API begins with, the first word, and the rest.
var routed = regexp.MustCompile(`^((?:/(?:` + strings.Join(list("leading"), "|") + `|v\d)){0,4}(?:/[A-Za-z_-]+)?)` +
	`((?:[/?#].*)?)$`)

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isLetterOrDigit reports whether a byte belongs to a word, in any script.
func isLetterOrDigit(c byte) bool { return isLetter(c) || isDigit(c) || c >= utf8.RuneSelf }

const (
	asciiDigits   = "0123456789"
	asciiCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	asciiLower    = "abcdefghijklmnopqrstuvwxyz"
)

// only reports whether a text is not empty, and has only these characters.
func only(s, characters string) bool { return s != "" && strings.Trim(s, characters) == "" }

func isDigits(s string) bool { return only(s, asciiDigits) }
func isHex(s string) bool    { return only(s, asciiDigits+"abcdefABCDEF") }

var (
	codeNames   = set("codeNames") // words after which "code" means an error code, not a zip, coupon or country code
	codeLinks   = set("codeLinks") // may stand between such a word and its number
	httpMethods = set("httpMethods")
	units       = set("units")
	months      = set("months")
	zones       = set("zones")
	services    = set("services")  // ports that name the service that was not reached
	technical   = set("technical") // words whose digits have a meaning
)

var (
	isPath = sync.OnceValue(func() *regexp.Regexp { return begin(rules().Parts["file"]) })
	email  = sync.OnceValue(func() *regexp.Regexp { return begin(rules().Parts["email"]) })
)
