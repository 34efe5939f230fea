package mgmt

import "io"

// deepest is how many levels of JSON are read. encoding/json fails at 10,000, and the whole list with such an element
// is lost: anyone who may declare a queue can give it arguments of 25,000 levels (3.10.8, 4.0.5, 4.3.6). Settings are
// in the first level of arguments, which is the fourth of a list.
const deepest = 100

// shallow is JSON without the contents of objects and arrays deeper than deepest. Invalid JSON stays invalid.
type shallow struct {
	io.ReadCloser
	open    int  // brackets
	text    bool // inside a string
	escaped bool // after a backslash in it
}

func (s *shallow) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		n, err = s.ReadCloser.Read(p)
		n = s.dropDeep(p[:n])
	}

	return n, err
}

// dropDeep moves what is not too deep to the beginning of b, and returns its size.
func (s *shallow) dropDeep(b []byte) (n int) {
	for _, c := range b {
		inside := s.open // the brackets around c
		switch {
		case s.escaped:
			s.escaped = false
		case s.text:
			s.escaped, s.text = c == '\\', c != '"'
		case c == '"':
			s.text = true
		case c == '{' || c == '[':
			s.open++
		case c == '}' || c == ']':
			s.open = max(s.open-1, 0)
			inside = s.open
		}

		if inside <= deepest {
			b[n] = c
			n++
		}
	}

	return n
}
