package cause

import (
	"net/netip"
	"strings"
	"unicode/utf8"
)

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

const (
	asciiDigits   = "0123456789"
	asciiCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	asciiLetters  = "abcdefghijklmnopqrstuvwxyz" + asciiCapitals
)

// only reports whether a text is not empty, and has only these characters.
func only(s, characters string) bool { return s != "" && strings.Trim(s, characters) == "" }

func isDigits(s string) bool { return only(s, asciiDigits) }
func isHex(s string) bool    { return only(s, asciiDigits+"abcdefABCDEF") }

// isLetterHex reports whether a word is hexadecimal that happens to have no digits.
func isLetterHex(s string) bool { return len(s) >= 8 && isHex(s) }

const uuidLength = 36

// isUUID reports whether a text begins with a UUID.
func isUUID(s string) bool {
	return len(s) >= uuidLength && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && isHex(s[:8]) &&
		isHex(s[9:13]) && isHex(s[14:18]) && isHex(s[19:23]) && isHex(s[24:uuidLength])
}

// isID reports whether a word with digits is machine-made: hexadecimal, base 32, 36, 58 or 64, or longer than any name.
func isID(s string) bool {
	groups, letters := 0, 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			letters++
		} else if i == 0 || !isDigit(s[i-1]) {
			groups++
		}
	}
	if len(s) > longestWord || isHex(s) && len(s) >= 6 {
		return true
	}
	return groups > 1 && !technical[strings.ToLower(s)] && letters <= 5*groups+4
}

// isNumberedName reports whether the digits of a word belong to a name: Log4jAppender, OrderV2, v1.
func isNumberedName(s string) bool {
	first, last := strings.IndexAny(s, asciiDigits), strings.LastIndexAny(s, asciiDigits)
	switch before, behind := s[:first], s[last+1:]; {
	case last-first > 2:
		return false
	case behind == "":
		return last == first && (before == "v" || before == "V" || len(before) > 3 && before[len(before)-1] == 'V')
	default:
		return before != "" && len(s)-(last+1-first) >= 6 && (isCapital(behind[0]) ||
			len(behind) > 3 && strings.ContainsAny(behind, "aeiouAEIOU") && isCapital(before[0]))
	}
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

// isPodSuffix reports whether a word is a suffix that Kubernetes generates: five of its consonants and digits.
func isPodSuffix(s string) bool {
	return len(s) == 5 && strings.Trim(s, "bcdfghjklmnpqrstvwxz2456789") == ""
}

// isEmail reports whether a chunk is an e-mail address.
func isEmail(s string) bool {
	name, host, ok := strings.Cut(strings.TrimPrefix(s, "mailto:"), "@")
	return ok && name != "" && len(host) > 2 && isLetterOrDigit(host[0]) && strings.Contains(host, ".")
}

func isLetterOrDigit(c byte) bool { return isLetter(c) || isDigit(c) || c >= utf8.RuneSelf }

// isPath reports whether a chunk is a file path.
func isPath(s string) bool {
	switch {
	case len(s) < 3:
		return false
	case s[0] == '/' || s[0] == '~' && s[1] == '/':
		return s[1] != '/'
	case s[0] == '.':
		return s[1] == '/' || s[1] == '\\' || s[1] == '.' && (s[2] == '/' || s[2] == '\\')
	case s[0] == '\\':
		return s[1] == '\\'
	}
	return isLetter(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
}

// isSecret reports whether a chunk is a token, a signature or other base64 data.
func isSecret(s string) bool {
	if len(s) < 20 {
		return false
	}
	if s[:3] == "eyJ" {
		return true
	}
	var lower, upper, digits, others int
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case isDigit(c):
			digits++
		case c == '+' || c == '/' || c == '=':
			others++
		default:
			return false
		}
	}
	return lower > 3 && upper > 3 && digits > 1 && (others > 0 || digits+upper > 8)
}

// isEncoded reports whether a chunk has URL-encoded characters: %3A.
func isEncoded(s string) bool {
	i := strings.IndexByte(s, '%')
	return i >= 0 && len(s) > i+8 && isHex(s[i+1:i+3])
}

// address folds an IP address, and keeps a port that names a service.
func (f *folder) address(s string) bool {
	s = strings.TrimPrefix(s, "/") // as Java writes addresses
	if first, second, ok := strings.Cut(s, "->"); ok && strings.ContainsAny(first, ".:") {
		if f.address(first) {
			f.write("->")
			f.fold(second)
			return true
		}
		return false
	}
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i > 0 && isDigits(s[i+1:]) && (strings.Count(s, ":") == 1 || s[:i] == "::1") {
		host, port = s[:i], s[i+1:]
	}
	if i := strings.IndexByte(host, '/'); i > 0 && isDigits(host[i+1:]) { // a network in CIDR notation
		host = host[:i]
	}
	if strings.Count(host, ".") != 3 && strings.Count(host, ":") < 2 || len(host) > 45 {
		return false
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return false
	}
	if !strings.Contains(host, ".") && strings.Count(host, ":") == 2 && !strings.Contains(host, "::") {
		return false // a time: 12:30:45
	}
	f.placeholder(someIP)
	f.port(port)
	f.word(someIP)
	return true
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

// isPort reports whether a number is a service's port: after a host, or after the word port.
func (f *folder) isPort(s, rest string) bool {
	if rest != "" && rest[0] != '/' || !services[s] {
		return false
	}
	return f.words[0] == "port" && (f.ends(" ") || f.ends("=") || f.ends(":")) || f.ends(":") && len(s) > 3 ||
		f.ends("localhost:") || f.endsWithHost()
}

// endsWithHost reports whether the output ends with a dotted name and a colon.
func (f *folder) endsWithHost() bool {
	text := string(f.out)
	return f.ends(":") && strings.Contains(text[strings.LastIndexAny(text, " (\"'")+1:], ".")
}

// url folds a URL to its host and the first word of its path.
func (f *folder) url(s string) {
	scheme, rest, _ := strings.Cut(s, "://")
	f.write(scheme + "://")
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 { // never the user
		host = host[i+1:]
	}
	if !f.address(host) {
		name, port, _ := strings.Cut(host, ":")
		f.pieces(name)
		f.port(port)
	}
	f.route(path)
	f.code, f.kept = codeState{}, false
}

// route writes a URL's path up to its first word: ids follow.
func (f *folder) route(path string) {
	if path == "" || path == "/" {
		return
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		s, query, asked := strings.Cut(s, "?")
		base := leading[s] || len(s) == 2 && s[0] == 'v' && isDigit(s[1])
		if i > 3 || !base && !only(s, asciiLetters+"-_") {
			f.write("/" + someText)
			return
		}
		f.write("/" + s)
		if more := i+1 < len(segments); !base || asked && query != "" {
			if more || asked {
				f.write("/" + someText)
			}
			return
		}
	}
}

var (
	leading     = set("leading")
	httpMethods = set("httpMethods")
	// keys whose values vary by message: user=alice
	valueKeys = set("valueKeys")
	// words before the values of a statement
	valueLists = set("valueLists")
	units      = set("units")
	months     = set("months")
	weekdays   = set("weekdays")
	zones      = set("zones")
	// ports that name the service that was not reached
	services = set("services")
	// words whose digits have a meaning
	technical = set("technical")
)
