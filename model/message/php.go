package message

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// Bounds of what is read of PHP's serialize: nothing of it is executed, and no object is made.
const (
	maxPHPDepth  = 32
	maxPHPValues = 100_000
)

// phpValue is a value of PHP's serialize, with where it stands in the text.
type phpValue struct {
	start, end int
	text       string      // of a scalar; the class of an object
	scalar     bool        // text is its value
	object     bool        // text is its class
	members    []phpMember // of an array or an object
	count      [2]int      // where the number of members stands
}

// phpMember is a key with its value. The name of a property is without the class that it is private to.
type phpMember struct {
	start int // of the key
	key   string
	value *phpValue
}

var errPHP = errors.New("no PHP serialize")

// phpParser reads a value that was written by PHP's serialize.
type phpParser struct {
	text   []byte
	at     int
	values int
	refers bool // a value refers to another by its number: none may be taken out
}

// until is the text up to a delimiter, which is passed.
func (p *phpParser) until(delimiter byte, most int) (string, error) {
	end := bytes.IndexByte(p.text[p.at:min(len(p.text), p.at+most+1)], delimiter)
	if end < 0 {
		return "", errPHP
	}
	s := string(p.text[p.at : p.at+end])
	p.at += end + 1
	return s, nil
}

func (p *phpParser) expect(s string) error {
	if !bytes.HasPrefix(p.text[p.at:], []byte(s)) {
		return errPHP
	}
	p.at += len(s)
	return nil
}

// number is a length or a count, which cannot be more than there is text.
func (p *phpParser) number(delimiter byte) (int, error) {
	s, err := p.until(delimiter, 10)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > len(p.text) {
		return 0, errPHP
	}
	return n, nil
}

func (p *phpParser) value(depth int) (*phpValue, error) {
	if p.values++; depth > maxPHPDepth || p.values > maxPHPValues || p.at+2 > len(p.text) {
		return nil, errPHP
	}
	v := &phpValue{start: p.at}
	kind := p.text[p.at]
	if kind == 'N' {
		err := p.expect("N;")
		v.end = p.at
		return v, err
	}
	if p.text[p.at+1] != ':' {
		return nil, errPHP
	}
	p.at += 2
	var err error
	switch kind {
	case 'b', 'i', 'd':
		v.scalar = true
		v.text, err = p.until(';', 40)
	case 'r', 'R':
		p.refers = true
		_, err = p.until(';', 12)
	case 's':
		v.scalar = true
		if v.text, err = p.quoted(); err == nil {
			err = p.expect(";")
		}
	case 'E': // an enum's case
		v.scalar = true
		if v.text, err = p.quoted(); err == nil {
			err = p.expect(";")
		}
	case 'O':
		v.object = true
		if v.text, err = p.quoted(); err == nil {
			err = p.expect(":")
		}
		if err == nil {
			err = p.table(v, depth)
		}
	case 'a':
		err = p.table(v, depth)
	case 'C': // an object that wrote itself
		v.object = true
		if v.text, err = p.quoted(); err == nil {
			err = p.custom()
		}
	default:
		err = errPHP
	}
	v.end = p.at
	return v, err
}

// quoted is LENGTH:"TEXT".
func (p *phpParser) quoted() (string, error) {
	n, err := p.number(':')
	if err != nil || p.at+n+2 > len(p.text) {
		return "", errPHP
	}
	if err := p.expect(`"`); err != nil {
		return "", err
	}
	s := string(p.text[p.at : p.at+n])
	p.at += n
	return s, p.expect(`"`)
}

func (p *phpParser) custom() error {
	if err := p.expect(":"); err != nil {
		return err
	}
	n, err := p.number(':')
	if err != nil || p.at+n+2 > len(p.text) {
		return errPHP
	}
	p.at += n + 1
	p.refers = true // what is in it is not looked at
	return p.expect("}")
}

// table is COUNT:{KEY VALUE …}.
func (p *phpParser) table(v *phpValue, depth int) error {
	v.count[0] = p.at
	n, err := p.number(':')
	if err != nil {
		return err
	}
	v.count[1] = p.at - 1
	if err := p.expect("{"); err != nil {
		return err
	}
	for range n {
		m := phpMember{start: p.at}
		key, err := p.value(depth + 1)
		if err != nil || !key.scalar {
			return errPHP
		}
		m.key = key.text
		if i := strings.LastIndexByte(m.key, 0); i >= 0 {
			m.key = m.key[i+1:]
		}
		if m.value, err = p.value(depth + 1); err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	return p.expect("}")
}

// member is the value under a key, nil when there is none.
func (v *phpValue) member(key string) *phpValue {
	if v == nil {
		return nil
	}
	for i := range v.members {
		if v.members[i].key == key {
			return v.members[i].value
		}
	}
	return nil
}

// symfonyBody is the envelope in a body as Symfony's PHP serializer writes it.
type symfonyBody struct {
	serialized []byte // without slashes
	envelope   *phpValue
	refers     bool
	base64     bool
}

// readSymfonyBody reads Symfony's envelope out of a body.
func readSymfonyBody(body []byte) (*symfonyBody, bool) {
	if !beginsWithOne(body, symfonyBodies) || len(body) > MaxEnvelope {
		return nil, false
	}
	s := &symfonyBody{base64: body[0] == 'T'}
	if s.base64 {
		decoded, err := base64.StdEncoding.DecodeString(string(body))
		if err != nil {
			return nil, false
		}
		body = decoded
	}
	s.serialized = stripSlashes(body)
	p := phpParser{text: s.serialized}
	v, err := p.value(0)
	if err != nil || p.at != len(s.serialized) || !v.object {
		return nil, false
	}
	s.envelope, s.refers = v, p.refers
	return s, true
}

// stamps are the stamps of a class, the last one is the newest.
func (s *symfonyBody) stamps(class string) []phpMember {
	if list := s.envelope.member("stamps").member(class); list != nil {
		return list.members
	}
	return nil
}

// without is the body without the stamps of some classes; false where that cannot be written.
func (s *symfonyBody) without(classes []string) ([]byte, bool) {
	stamps := s.envelope.member("stamps")
	if stamps == nil || s.refers {
		return nil, false
	}
	out := bytes.Clone(s.serialized[:stamps.count[0]])
	var kept []byte
	n := 0
	for _, m := range stamps.members {
		if !containsFold(classes, m.key) {
			kept = append(kept, s.serialized[m.start:m.value.end]...)
			n++
		}
	}
	out = append(strconv.AppendInt(out, int64(n), 10), ":{"...)
	out = append(append(append(out, kept...), '}'), s.serialized[stamps.end:]...)
	out = addSlashes(out)
	if s.base64 {
		out = []byte(base64.StdEncoding.EncodeToString(out))
	}
	return out, true
}

func containsFold(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) { // PHP's classes have no case
			return true
		}
	}
	return false
}

// stripSlashes is PHP's stripslashes, addSlashes its addslashes.
func stripSlashes(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		if i++; i == len(text) {
			break
		}
		if text[i] == '0' {
			out = append(out, 0)
		} else {
			out = append(out, text[i])
		}
	}
	return out
}

func addSlashes(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, b := range text {
		switch b {
		case 0:
			out = append(out, '\\', '0')
		case '\\', '"', '\'':
			out = append(out, '\\', b)
		default:
			out = append(out, b)
		}
	}
	return out
}
