package cause

import (
	"regexp"
	"strings"
)

// codeState says whether the next number is a code that names the reason, of HTTP, SMTP, SQL or the system.
type codeState struct {
	kind codeKind
	left int // words that may still come in between
}

type codeKind int

const (
	noCode     codeKind = iota
	anyCode             // after "status", "errno", "SQLSTATE"
	errorCode           // after "error": 3 to 5 digits, or capitals and digits
	statusCode          // after "response", "returned": 100 to 599, unless it counts something
	countCode           // after "got", "received": 100 to 599 if the text is about a status
)

// codeWords are words after which a number is a code.
var codeWords = map[string]codeKind{
	"status": anyCode, "statuscode": anyCode, "status_code": anyCode, "code": anyCode, "errorcode": anyCode,
	"error_code": anyCode, "errno": anyCode, "http": anyCode, "smtp": anyCode, "sqlstate": anyCode, "sqlcode": anyCode,
	"exit": anyCode, "exited": anyCode, "signal": anyCode, "winerror": anyCode, "hresult": anyCode,
	"vendorerror": anyCode, "state": anyCode, "alert": anyCode, "reply": anyCode, "replycode": anyCode, "rc": anyCode,
	"error": errorCode, "exception": errorCode, "err": errorCode, "fault": errorCode,
	"response": statusCode, "returned": statusCode, "responded": statusCode, "replied": statusCode,
	"answered": statusCode, "got": countCode, "received": countCode,
}

// codeNames are words after which "code" means an error code, not a zip, coupon or country code.
var codeNames = set("codeNames")

// codeLinks may stand between such a word and its number.
var codeLinks = set("codeLinks")

func (s *codeState) word(w string, kind codeKind) {
	if kind != noCode {
		if s.kind != anyCode || s.left <= 0 {
			s.kind = kind
		}
		s.left = 3
		return
	}
	if s.left--; s.left < 0 || !codeLinks[w] {
		*s = codeState{}
	}
}

// codeKind is what a word just written says about the number after it.
func (f *folder) codeKind(w string) codeKind {
	if w != "code" || f.code.left > 0 && f.code.kind <= errorCode && f.code.kind != noCode {
		return codeWords[w]
	}
	before := strings.TrimRight(string(f.out[:max(len(f.out)-len(w), 0)]), " -")
	if before == "" || !isLetterOrDigit(before[len(before)-1]) && before[len(before)-1] != someValue[0] {
		return anyCode // first in the text, or after punctuation: "(code 1205)"
	}
	name := f.words[0]
	if codeLinks[name] { // "failed with code 5"
		name = f.words[1]
	}
	if codeNames[name] {
		return anyCode
	}
	return noCode
}

// isCode reports whether a word with digits is a code that must stay.
func (f *folder) isCode(s string) bool {
	if strings.Contains(string(f.out[max(len(f.out)-1, 0):]), ".") && !f.kept { // part of a decimal number, or a name
		return false
	}
	switch f.code.kind {
	case anyCode:
		return len(s) <= 6 && isUpperCode(s) || isHResult(s)
	case errorCode:
		if isDigits(s) {
			return len(s) >= 3 && len(s) <= 5
		}
		return len(s) <= 10 && isUpperCode(s) || isHResult(s)
	case statusCode:
		if isStatus(s) && (!f.counts() || f.inHTTP()) {
			return true
		}
	case countCode:
		phrase := firstWord(strings.TrimLeft(f.in[f.at:], " (:-")) // 503 (Service Unavailable)
		if isStatus(s) && (f.inHTTP() || phrases[phrase]) {
			return true
		}
	}
	if isHResult(s) {
		return true
	}
	if f.kept && (f.ends("(") || f.ends("[")) && len(s) <= 5 && isUpperCode(s) { // ERROR 1062 (23000)
		return true
	}
	return f.phrased(s)
}

// keep writes a code.
func (f *folder) keep(s string) {
	f.write(s)
	f.code, f.kept = codeState{}, true
}

// phrased reports whether the text around a number shows that it is a code: "503 Service Unavailable", "550 5.1.1",
// "550-Mailbox", (1205, 'Lock wait timeout').
func (f *folder) phrased(s string) bool {
	if !isDigits(s) || len(s) < 3 || len(s) > 5 {
		return false
	}
	rest := f.in[f.at:]
	if f.ends("(") && len(rest) > 3 && rest[0] == ',' && rest[1] == ' ' &&
		(rest[2] == '\'' || rest[2] == '"' || rest[2] == 'b' && (rest[3] == '\'' || rest[3] == '"')) {
		return true
	}
	before := string(f.out)
	if len(before) > 2 {
		before = before[len(before)-2:]
	}
	begins := strings.TrimSpace(before) == "" || before == ": " || before[len(before)-1] == '('
	capital := len(rest) > 2 && (rest[0] == ' ' || rest[0] == '-') && rest[1] >= 'A' && rest[1] <= 'Z'
	switch {
	case isStatus(s) && capital && phrases[firstWord(rest[1:])]:
		return true
	case !begins:
		return false
	case (s[0] == '4' || s[0] == '5') && len(s) == 3:
		return capital || len(rest) > 1 && isEnhanced(rest[1:])
	}
	return capital && before == ": " && f.inSQL() // Integrity constraint violation: 1062 Duplicate entry
}

// counts reports whether a number is followed by what it counts: "returned 437 rows".
func (f *folder) counts() bool {
	rest := f.in[f.at:]
	return len(rest) > 1 && rest[0] == ' ' && rest[1] >= 'a' && rest[1] <= 'z' && !codeLinks[firstWord(rest[1:])]
}

// inHTTP reports whether the text so far is about HTTP: "HTTP", a URL, or a status.
func (f *folder) inHTTP() bool {
	before := strings.ToLower(f.in[:f.at])
	return strings.Contains(before, "http") || strings.Contains(before, "status")
}

// inSQL reports whether an SQLSTATE was mentioned.
func (f *folder) inSQL() bool { return strings.Contains(string(f.out), "SQLSTATE") }

// knownCode writes a chunk that is a code as a whole.
func (f *folder) knownCode(s string) bool {
	switch {
	case f.kept && isEnhanced(s), isProductCode(s), isReplyWithEnhanced(s):
		f.keep(s)
		return true
	case len(s) >= 6 && len(s) <= 8 && (s[:5] == "HTTP/" || s[:5] == "http/"): // the version does not matter
		f.write("HTTP")
		f.word("http")
		return true
	}
	return false
}

// isReplyWithEnhanced reports whether a chunk is an SMTP reply as on all lines but the last: 421-4.7.0.
func isReplyWithEnhanced(s string) bool {
	return len(s) > 4 && isStatus(s[:3]) && s[3] == '-' && isEnhanced(s[4:])
}

// isEnhanced reports whether a text begins with an enhanced SMTP status code: 5.1.1.
func isEnhanced(s string) bool { return enhanced.MatchString(s) }

var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}(?:[ ']|$)`)

// isProductCode reports whether a chunk is a product's error code: ORA-00001, E11000, SQL0803N.
func isProductCode(s string) bool {
	if prefix, rest, ok := strings.Cut(s, "-"); ok {
		return productPrefixes[prefix] && isDigits(rest) && len(rest) <= 6
	}
	return isCapital(s[0]) && productCode.MatchString(s)
}

var productCode = regexp.MustCompile(`^(?:[EPW]\d{4,5}|SQL\d{4}[NWC]|(?:PGRST|AADSTS|CS|HY)\d{3,7})$`)

// productPrefixes are the prefixes of such codes with a hyphen.
var productPrefixes = set("productPrefixes")

// isUpperCode reports whether a word consists of digits and, optionally, capitals.
func isUpperCode(s string) bool { return only(s, asciiDigits+asciiCapitals) }

// isHResult reports whether a word is an error code of Windows: 0x80131904, 0xC0000005.
func isHResult(s string) bool {
	return len(s) == 10 && (s[:4] == "0x80" || s[:4] == "0xC0" || s[:4] == "0xc0") && isHex(s[4:])
}

// isStatus reports whether a word is an HTTP status or an SMTP reply code.
func isStatus(s string) bool { return len(s) == 3 && isDigits(s) && s[0] >= '1' && s[0] <= '5' }

func firstWord(s string) string { return s[:len(s)-len(strings.TrimLeft(s, asciiLetters))] }

// phrases are the first words of HTTP's reason phrases.
var phrases = set("phrases")
