package serial

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// The bounds of decoding PHP's serialize.
const (
	maxPHPDepth  = 32
	maxPHPValues = 100_000
)

type php struct {
	Reader
	size   int  // of the whole text
	refers bool // a value refers, or may refer, to another by number: none may be removed
}

// PHP decodes a text of PHP's serialize that is exactly one value. refers: values in it may refer to others by number.
func PHP(text []byte) (v *Value, refers bool, err error) {
	p := php{Reader: Reader{Rest: text, MaxValues: maxPHPValues, MaxDepth: maxPHPDepth}, size: len(text)}
	v, err = Try(func() *Value {
		v := p.value(0)
		Check(len(p.Rest) == 0)
		return v
	})

	return v, p.refers, err
}

// until reads up to a delimiter and consumes that.
func (p *php) until(delimiter byte, most int) string {
	end := bytes.IndexByte(p.Rest[:min(len(p.Rest), most+1)], delimiter)
	Check(end >= 0)
	return string(p.Next(uint64(end + 1))[:end])
}

func (p *php) expect(s string) { Check(string(p.Next(uint64(len(s)))) == s) }

// number returns a length or a count, which cannot exceed the length of the text.
func (p *php) number() uint64 {
	n, err := strconv.Atoi(p.until(':', 10))
	Check(err == nil && n >= 0 && n <= p.size)
	return uint64(n)
}

func (p *php) value(depth int) *Value {
	p.Spend(depth)
	kind := p.Next(1)[0]
	if kind == 'N' {
		p.expect(";")
		return Of("null")
	}

	p.expect(":")
	switch kind {
	case 'b':
		return Of(strconv.FormatBool(p.until(';', 40) == "1"))
	case 'i', 'd':
		text := p.until(';', 40)
		if !json.Valid([]byte(text)) {
			return OfText(text) // NAN, INF
		}

		return Of(text)
	case 'r', 'R': // references: values are numbered in order
		p.refers = true
		v := &Value{Kind: Object}
		v.Add("$ref", OfText(p.until(';', 12)))
		return v
	case 's', 'E': // a text, an enum's case
		v := OfText(p.quoted())
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
		v.Add("$data", OfText("written by the class itself"))
		p.expect(":")
		p.Next(p.number() + 1)
		p.expect("}")
		return v
	}

	panic(ErrFormat)
}

// quoted is LENGTH:"TEXT".
func (p *php) quoted() string {
	n := p.number()
	p.expect(`"`)
	s := string(p.Next(n))
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
		m := Member{From: p.size - len(p.Rest)}
		Check(len(p.Rest) > 0 && strings.IndexByte("bidsE", p.Rest[0]) >= 0)
		key := p.value(depth + 1).Text
		m.Name = key[strings.LastIndexByte(key, 0)+1:]
		m.Of = p.value(depth + 1)
		m.To = p.size - len(p.Rest)
		v.Members = append(v.Members, m)
		list = list && m.Name == strconv.FormatUint(i, 10)
	}

	p.expect("}")
	return list
}
