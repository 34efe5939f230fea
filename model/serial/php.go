package serial

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// The bounds of decoding PHP's serialize.
const (
	maxPHPDepth  = 32
	maxPHPValues = 100_000
)

// errPHP is why a text is not PHP's serialize: it has another format, or too many values or levels.
var errPHP = errors.New("not PHP's serialize")

type php struct {
	rest   string
	size   int  // of the whole text
	values int  // decoded so far
	refers bool // a value refers, or may refer, to another by number: none may be removed
}

// PHP decodes a text of PHP's serialize that is exactly one value; nil for any other. refers: values in it may refer to
// others by number.
func PHP(text []byte) (v *Value, refers bool) {
	defer func() {
		if bad := recover(); bad != nil && bad != any(errPHP) {
			panic(bad)
		}
	}()

	p := php{rest: string(text), size: len(text)}
	whole := p.value(0)
	check(p.rest == "")
	return whole, p.refers
}

// check ends the decoding of a text that is not PHP's serialize.
func check(ok bool) {
	if !ok {
		panic(errPHP)
	}
}

func (p *php) next(n int) string {
	check(n <= len(p.rest))
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}

// until reads up to a delimiter and consumes that.
func (p *php) until(delimiter byte, most int) string {
	end := strings.IndexByte(p.rest[:min(len(p.rest), most+1)], delimiter)
	check(end >= 0)
	return p.next(end + 1)[:end]
}

func (p *php) expect(s string) { check(p.next(len(s)) == s) }

// number returns a length or a count, which cannot exceed the length of the text.
func (p *php) number() int {
	n, err := strconv.Atoi(p.until(':', 10))
	check(err == nil && n >= 0 && n <= p.size)
	return n
}

func (p *php) value(depth int) *Value {
	p.values++
	check(p.values <= maxPHPValues && depth <= maxPHPDepth)
	kind := p.next(1)[0]
	if kind == 'N' {
		p.expect(";")
		return literal("null")
	}

	p.expect(":")
	switch kind {
	case 'b':
		return literal(strconv.FormatBool(p.until(';', 40) == "1"))
	case 'i', 'd':
		text := p.until(';', 40)
		if !json.Valid([]byte(text)) {
			return textual(text) // NAN, INF
		}

		return literal(text)
	case 'r', 'R': // references: values are numbered in order
		p.refers = true
		return &Value{Kind: Object, Members: []Member{{Name: "$ref", Of: textual(p.until(';', 12))}}}
	case 's', 'E': // a text, an enum's case
		v := textual(p.quoted())
		p.expect(";")
		return v
	case 'O':
		v := &Value{Kind: Object, Text: p.quoted()}
		p.expect(":")
		p.table(v, depth)
		return v
	case 'a':
		v := &Value{Kind: Object}
		if p.table(v, depth) {
			v.Kind = List
		}

		return v
	case 'C': // an object with its own format, which is not decoded
		p.refers = true
		v := &Value{Kind: Object, Text: p.quoted()}
		v.Members = []Member{{Name: "$data", Of: textual("written by the class itself")}}
		p.expect(":")
		p.next(p.number() + 1)
		p.expect("}")
		return v
	}

	panic(errPHP)
}

// quoted is LENGTH:"TEXT".
func (p *php) quoted() string {
	n := p.number()
	p.expect(`"`)
	s := p.next(n)
	p.expect(`"`)
	return s
}

// table is COUNT:{KEY VALUE …}. It reports whether the keys are 0, 1, 2 and so on. The name of a private property is
// without its class.
func (p *php) table(v *Value, depth int) (list bool) {
	n := p.number()
	p.expect("{")
	list = true
	for i := range n {
		m := Member{From: p.size - len(p.rest)}
		check(p.rest != "" && strings.IndexByte("bidsE", p.rest[0]) >= 0)
		key := p.value(depth + 1).Text
		m.Name = key[strings.LastIndexByte(key, 0)+1:]
		m.Of = p.value(depth + 1)
		m.To = p.size - len(p.rest)
		v.Members = append(v.Members, m)
		list = list && m.Name == strconv.Itoa(i)
	}

	p.expect("}")
	return list
}
