package body

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model/serial"
)

// javaReader decodes the output of Java's ObjectOutputStream (Java Object Serialization Specification, 6: Object
// Serialization Stream Protocol): the names of classes with their fields. It neither loads classes nor creates objects.
type javaReader struct {
	serial.Reader
	handles []any // *serial.Value or *javaClass, by their number
}

type javaClass struct {
	name   string
	flags  byte
	fields []javaField
	super  *javaClass
}

type javaField struct {
	kind byte // as in a signature: I, J, Z, L, [
	name string
}

// Type codes: what follows in the stream.
const (
	javaNull = 0x70 + iota
	javaReference
	javaClassDesc
	javaObject
	javaString
	javaArray
	javaClassObject
	javaBlock
	javaEndBlock
	javaReset
	javaLongBlock
	_ // an exception thrown during serialization
	javaLongString
	javaProxy
	javaEnum
)

const (
	javaWritten  = 1 << iota // the class wrote custom data after its fields
	javaFields               // it has fields
	javaExternal             // the class wrote its own format
	javaInBlocks             // in blocks, so the end is known
)

const javaHead = 4 // bytes: the magic number and the version

func parseJava(b []byte) *serial.Value {
	serial.Check(begins("\xac\xed\x00\x05")(b))
	r := javaReader{Reader: readerOf(b[javaHead:])}
	all := &serial.Value{Kind: serial.List}
	for len(r.Rest) > 0 {
		all.Add("", r.content(0))
	}
	if len(all.Members) == 1 {
		return all.Members[0].Of
	}

	return all
}

func (r *javaReader) remember(v any) { r.handles = append(r.handles, v) }

const firstHandle = 0x7e0000

func (r *javaReader) remembered() any {
	at := r.Number(4) - firstHandle
	serial.Check(at < uint64(len(r.handles)))
	return r.handles[at]
}

func (r *javaReader) content(depth int) *serial.Value {
	r.Spend(depth)
	kind := r.Next(1)[0]
	switch kind {
	case javaNull:
		return serial.Of("null")
	case javaReference:
		return r.reference()
	case javaString, javaLongString:
		size := uint64(2) // bytes of the length
		if kind == javaLongString {
			size = 8
		}

		v := serial.OfText(r.string(size))
		r.remember(v)
		return v
	case javaObject:
		return r.object(depth)
	case javaArray:
		return r.array(depth)
	case javaEnum:
		class := r.class(depth)
		v := &serial.Value{Kind: serial.Text}
		r.remember(v)
		name := r.content(depth + 1)
		v.Text = class.called() + "." + name.Text

		return v
	case javaClassObject:
		v := serial.OfText("class " + r.class(depth).called())
		r.remember(v)
		return v
	case javaClassDesc, javaProxy:
		return serial.OfText("class " + r.described(kind, depth).called())
	case javaBlock:
		return serial.OfBytes(r.Next(r.Number(1)))
	case javaLongBlock:
		return serial.OfBytes(r.Next(r.Number(4)))
	case javaReset:
		r.handles = nil
		return r.content(depth + 1)
	}

	panic(serial.ErrFormat)
}

// reference returns a value that occurred before: a text is repeated, an object only named.
func (r *javaReader) reference() *serial.Value {
	switch v := r.remembered().(type) {
	case *serial.Value:
		if v.Kind == serial.Text || v.Kind == serial.Literal {
			return v
		}
		same := &serial.Value{Kind: serial.Object}
		same.Add("$same", serial.OfText(v.Text))
		return same
	case *javaClass:
		return serial.OfText("class " + v.called())
	}

	panic(serial.ErrFormat)
}

func (c *javaClass) called() string {
	if c == nil {
		return "?"
	}
	return c.name
}

// class returns a class descriptor, nil when there is none.
func (r *javaReader) class(depth int) *javaClass {
	kind := r.Next(1)[0]
	switch kind {
	case javaNull:
		return nil
	case javaReference:
		c, ok := r.remembered().(*javaClass)
		serial.Check(ok)
		return c
	case javaClassDesc, javaProxy:
		return r.described(kind, depth)
	}

	panic(serial.ErrFormat)
}

// described decodes a class descriptor and those of its superclasses.
func (r *javaReader) described(kind byte, depth int) *javaClass {
	r.Spend(depth)
	c := &javaClass{}
	if kind == javaProxy {
		r.remember(c)
		n := r.Number(4)
		serial.Check(n <= uint64(len(r.Rest)/2))
		names := make([]string, n)
		for i := range names {
			names[i] = r.string(2)
		}
		c.name = "proxy of " + strings.Join(names, ", ")
		c.flags = javaFields
	} else {
		c.name = r.string(2)
		r.Next(8) // the serialVersionUID
		r.remember(c)
		c.flags = r.Next(1)[0]
		for range r.Number(2) {
			f := javaField{kind: r.Next(1)[0], name: r.string(2)}
			if f.kind == 'L' || f.kind == '[' {
				r.content(depth + 1) // the name of its type
			}
			c.fields = append(c.fields, f)
		}
	}

	r.written(depth)
	c.super = r.class(depth + 1)
	return c
}

// written returns the custom data up to its end marker.
func (r *javaReader) written(depth int) (values []*serial.Value) {
	for {
		serial.Check(len(r.Rest) > 0)
		if r.Rest[0] == javaEndBlock {
			r.Next(1)
			return values
		}
		values = append(values, r.content(depth+1))
	}
}

// object returns an object with the fields of its classes, beginning with the topmost superclass.
func (r *javaReader) object(depth int) *serial.Value {
	class := r.class(depth)
	serial.Check(class != nil)
	v := &serial.Value{Kind: serial.Object, Text: class.name}
	r.remember(v)

	var chain []*javaClass
	for c := class; c != nil; c = c.super {
		chain = append(chain, c)
		serial.Check(len(chain) <= maxDepth)
	}

	for i := len(chain) - 1; i >= 0; i-- {
		c := chain[i]
		if c.flags&javaFields != 0 {
			for _, f := range c.fields {
				v.Add(f.name, r.field(f.kind, depth))
			}
		}

		if c.flags&(javaFields|javaWritten) == javaFields|javaWritten || c.flags&(javaExternal|javaInBlocks) ==
			javaExternal|javaInBlocks {
			addWritten(v, c, r.written(depth))
		}

		serial.Check(c.flags&(javaExternal|javaInBlocks) != javaExternal) // the end of the data is unknown
	}

	known(v)
	return v
}

func (r *javaReader) array(depth int) *serial.Value {
	class := r.class(depth)
	serial.Check(class != nil && len(class.name) >= 2 && class.name[0] == '[')
	v := &serial.Value{Kind: serial.List}
	r.remember(v)
	n := r.Number(4)
	serial.Check(n <= uint64(len(r.Rest)))
	if class.name[1] == 'B' {
		*v = *serial.OfBytes(r.Next(n))
		return v
	}

	for range n {
		v.Add("", r.field(class.name[1], depth))
	}

	return v
}

// field returns the value of a field of this kind.
func (r *javaReader) field(kind byte, depth int) *serial.Value {
	r.Spend(depth)
	switch kind {
	case 'B':
		return serial.OfInt(int64(int8(r.Number(1))))
	case 'C':
		return serial.OfText(string(utf16.Decode([]uint16{uint16(r.Number(2))})))
	case 'D':
		return serial.OfFloat(math.Float64frombits(r.Number(8)), 64)
	case 'F':
		return serial.OfFloat(float64(math.Float32frombits(uint32(r.Number(4)))), 32)
	case 'I':
		return serial.OfInt(int64(int32(r.Number(4))))
	case 'J':
		return serial.OfInt(int64(r.Number(8)))
	case 'S':
		return serial.OfInt(int64(int16(r.Number(2))))
	case 'Z':
		return serial.Of(strconv.FormatBool(r.Number(1) != 0))
	case 'L', '[':
		return r.content(depth + 1)
	}

	panic(serial.ErrFormat)
}

// string returns a text in Java's modified UTF-8 (NUL in two bytes, characters beyond 16 bits as surrogates of three
// bytes each), with its length in front.
func (r *javaReader) string(size uint64) string {
	b := r.Next(r.Number(size))
	if !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return string(b)
	}
	units := make([]uint16, 0, len(b))
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c < 0x80:
			units = append(units, uint16(c))
			i++
		case c&0xe0 == 0xc0 && i+1 < len(b):
			units = append(units, uint16(c&0x1f)<<6|uint16(b[i+1]&0x3f))
			i += 2
		case c&0xf0 == 0xe0 && i+2 < len(b):
			units = append(units, uint16(c&0xf)<<12|uint16(b[i+1]&0x3f)<<6|uint16(b[i+2]&0x3f))
			i += 3
		default:
			panic(serial.ErrFormat)
		}
	}

	return string(utf16.Decode(units))
}
