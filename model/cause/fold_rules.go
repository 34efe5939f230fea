package cause

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// rule folds what its pattern matches. Of the rules that are tried the first one that matches counts.
type rule struct {
	words   string                         // the section of the vocabulary with the words at which it is tried
	after   string                         // what the output must end with
	has     string                         // what the word or chunk must contain
	when    func(f *folder, s string) bool // of the word or chunk that begins here
	pattern *regexp.Regexp                 // what follows an empty group is only looked at; nil: the word or chunk
	far     bool                           // the pattern reads up to mostQuoted bytes, not only mostNear
	out     string                         // a placeholder, or a template of Regexp.Expand
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

// Parts of patterns.
const (
	code     = `(?:[A-Z]{0,5}\d[A-Z\d]{0,5}\b|` + hresult + `)`
	hresult  = `0x(?:80|[Cc]0)[0-9a-fA-F]{6}\b`
	enhanced = `[245]\.\d{1,3}\.\d{1,3}\b`                              // of SMTP
	second   = `(?:[)\]]? ?[(\[][A-Z\d]{1,5}\b|[: ]+` + enhanced + `)?` // 1062 (23000)
	filePath = `(?:~?/[^/]|\.\.?[/\\]|\\\\|[A-Za-z]:[\\/]).+`
)

// separators are between a word and its code: up to three words that say nothing.
var separators = `(?:[ :=(\[#"'-]+(?i:` + oneOf("codeLinks") + `)){0,3}[ :=(\[-]+`

// begin compiles a pattern that matches where it is tried.
func begin(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)`) }

// oneOf matches a word of a section of the vocabulary.
func oneOf(section string) string { return `(?:` + strings.Join(list(section), "|") + `)\b` }

// nested matches text up to the closing bracket of a pair that was opened before, with brackets inside.
func nested(pair string) string {
	open, end := regexp.QuoteMeta(pair[:1]), regexp.QuoteMeta(pair[1:])
	inside := `[^` + open + end + `]`
	return `(?:` + inside + `|` + open + `(?:` + inside + `|` + open + inside + `*` + end + `)*` + end + `)*`
}

// the value of a key in SQL: Key (email)=(ann)
var closingRules = []rule{{
	far: true, out: ")=(…)",
	pattern: begin(`\)=\(` + nested("()") + `(?:\)|$)`),
}}

// chunkRules fold a chunk as a whole.
var chunkRules = []rule{
	// a URL
	{has: "://", pattern: begin(`(.*?://)(?:[^/?#]*@)?([^/?#]*)(.*)`), out: asURL},
	// an e-mail address
	{has: "@", pattern: email, out: someEmail},
	// the path of a request
	{pattern: begin(`/[^/].+`), when: afterMethod, out: asRoute},
	// a path of a file
	{pattern: begin(filePath), out: somePath},
	// an IP address or a network, and a port
	{
		has: ".", when: isShort, out: asAddress,
		pattern: begin(`/?(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?(?::(\d+))?$`),
	},
	// an IPv6 address or network, and a port of this host
	{
		has: ":", when: isShort, out: asAddress,
		pattern: begin(`/?(?:::1:(\d+)|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|[0-9a-fA-F]*(?::[0-9a-fA-F]+)*::` +
			`[0-9a-fA-F:.]*(?:/\d+)?)$`),
	},
	// an SMTP reply and its enhanced code
	{has: "-", pattern: begin(`[1-5]\d\d-` + enhanced + `$`), out: same},
	// a code of a product: ORA-00001
	{has: "-", pattern: begin(oneOf("productPrefixes") + `-\d{1,6}$`), out: same},
	// a code of a product: E11000, SQL0803N
	{
		out:     same,
		pattern: begin(`(?:[EPW]\d{4,5}|SQL\d{4}[NWC]|(?:PGRST|AADSTS|CS|HY)\d{3,7})$`),
	},
	// a JSON web token
	{pattern: begin(`eyJ.{17}.*`), out: someValue},
	// a token, a signature or other base64 data
	{pattern: begin(`[A-Za-z\d+/=]+$`), when: isSecret, out: someValue},
	// URL-encoded text
	{has: "%", pattern: begin(`.*%[0-9a-fA-F]{2}.{6}.*`), out: someValue},
}

// announcedRules fold what follows a word of the vocabulary.
var announcedRules = []rule{
	// the values of a statement
	{
		words: "valueLists", far: true, out: "${1}${2}${4}${6}…${3}${5}${7}",
		pattern: begin(`(\w+[ :=-]*)(?:(\()` + nested("()") + `(\)|$)|(\[)` + nested("[]") + `(\]|$)` +
			`|({)` + nested("{}") + `(}|$))`),
	},
	// a code after errno, status, HTTP/1.1
	{
		words: "anyCode", out: "$1$2",
		pattern: begin(`(\w+)(?:/\d(?:\.\d)?)?(` + separators + code + second + `)`),
	},
	// the version of HTTP
	{words: "anyCode", pattern: begin(`(?i:http)/\d(?:\.\w)?()(?:[^\w.-]|$)`), out: "HTTP"},
	// a code after code
	{
		words: "codeWord", when: isNamedCode, out: same,
		pattern: begin(`\w+` + separators + code + second),
	},
	// a code after error
	{
		words: "errorCode", out: same,
		pattern: begin(`\w+` + separators + `(?:\d{3,5}\b|[A-Z]+\d[A-Z\d]*\b|\d[A-Z\d]*[A-Z][A-Z\d]*\b|` + hresult +
			`)` + second),
	},
	// a status after response, but not what it counts
	{
		words: "reply", out: same,
		pattern: begin(`\w+` + separators + `[1-5]\d\d\b()(?: ` + oneOf("codeLinks") + `| [^a-z]|[^ \d]|$)`),
	},
	// a status after response or got, in HTTP
	{
		words: "status", when: inHTTP, out: same,
		pattern: begin(`\w+` + separators + `[1-5]\d\d\b`),
	},
	// a status after got, with its phrase
	{
		words: "count", out: same,
		pattern: begin(`\w+` + separators + `[1-5]\d\d\b()[ (:-]+` + oneOf("phrases")),
	},
	// a month before a day
	{words: "months", pattern: begin(`\w+() \d`), out: someValue},
	// a weekday before a date
	{
		words: "weekdays", out: "",
		pattern: begin(`\w+,? ()(?:\d|(?i:` + oneOf("months") + `))`),
	},
	// the value of a key: user=ann
	{words: "valueKeys", pattern: begin(`(\w+=)\pL[\pL_']*`), out: "$1…"},
}

// wordRules fold words without digits.
var wordRules = []rule{
	// the unit of a number, a part of a date
	{after: someValue + " ", when: isUnit, out: asUnit},
	uuid,
	// hexadecimal without digits
	{when: isLongHex, out: someValue},
	podSuffix,
}

// a UUID
var uuid = rule{
	when: isLongHex, out: someValue,
	pattern: begin(`[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`),
}

// a suffix that Kubernetes generates
var podSuffix = rule{
	after: "#-", out: someValue,
	pattern: begin(`[bcdfghjklmnpqrstvwxz2456789]{5}\b`),
}

// numberRules fold words with digits, and signs, by themselves or by what follows.
var numberRules = []rule{
	uuid,
	// a code in a tuple: (1205, 'Lock wait
	{after: "(", pattern: begin(`\d{3,5}(), b?['"]`), out: same},
	// a status and its phrase
	{when: isReply, pattern: begin(`[1-5]\d\d()[ -]` + oneOf("phrases")), out: same},
	// a reply of SMTP or HTTP
	{
		when: begins, out: same,
		pattern: begin(`[45]\d\d(?:()[ -][A-Z]|[ -]` + enhanced + `)`),
	},
	// an error of SQL
	{after: ": ", when: inSQL, pattern: begin(`\d{3,5}() [A-Z]`), out: same},
	// an error of Windows
	{has: "0x", pattern: begin(hresult), out: same},
	// the port of a service
	{when: isPort, out: same},
	// a minus
	{when: isEmpty, pattern: begin(`-()\d`), out: ""},
}

// mixedRules fold words with digits.
var mixedRules = []rule{
	// a number
	{pattern: begin(`\d.*`), out: someValue},
	// a technical name
	{when: isTechnical, out: same},
	// a letter and a number
	{pattern: begin(`[a-uw-zA-UW-Z]\d+$`), out: someValue},
	// an id
	{when: isID, out: someValue},
	podSuffix,
	// a name with a number in it: OrderV2, Log4jAppender
	{
		when: isLongName, out: same,
		pattern: begin(`[vV]\d$|\pL{3,}V\d$|\pL+\d{1,3}[A-Z]\pL*$|[A-Z]\pL*\d{1,3}\pL*[aeiou]\pL*$`),
	},
	// a number in a word
	{out: asName},
}

// announced are the announcedRules of each word.
var announced = func() map[string][]rule {
	words := map[string][]rule{}
	for _, r := range announcedRules {
		for _, word := range list(r.words) {
			words[word] = append(words[word], r)
		}
	}
	return words
}()

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
	isPath = begin(filePath)
	email  = begin(`(?:mailto:)?[^@]+@[\pL\d][^.]*\..*`)
)
