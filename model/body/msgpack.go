package body

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model/serial"
)

// msgPack decodes MessagePack (msgpack.org, spec.md of 2017). Go libraries decode it into maps, which lose the order of
// keys and duplicate keys.
type msgPack struct{ serial.Reader }

func parseMsgPack(b []byte) *serial.Value {
	p := msgPack{readerOf(b)}
	v := p.value(0)
	serial.Check(len(p.Rest) == 0)
	return v
}

func (p *msgPack) value(depth int) *serial.Value {
	c := p.Next(1)[0]
	p.Spend(depth)
	switch {
	case c < 0x80:
		return serial.OfInt(int64(c))
	case c < 0x90:
		return p.table(uint64(c&0xf), depth)
	case c < 0xa0:
		return p.list(uint64(c&0xf), depth)
	case c < 0xc0:
		return p.text(uint64(c & 0x1f))
	case c >= 0xe0:
		return serial.OfInt(int64(int8(c)))
	case c >= 0xca && c <= 0xd3:
		return p.scalar(c)
	case c >= 0xd4 && c <= 0xd8: // an extension of 1 to 16 bytes
		return p.extension(1 << (c - 0xd4))
	}

	switch c { // kinds with a length
	case 0xc0:
		return serial.Of("null")
	case 0xc2, 0xc3:
		return serial.Of(strconv.FormatBool(c == 0xc3))
	case 0xc4, 0xc5, 0xc6:
		return serial.OfBytes(p.Next(p.Number(1 << (c - 0xc4))))
	case 0xc7, 0xc8, 0xc9:
		return p.extension(p.Number(1 << (c - 0xc7)))
	case 0xd9, 0xda, 0xdb:
		return p.text(p.Number(1 << (c - 0xd9)))
	case 0xdc, 0xdd:
		return p.list(p.Number(2<<(c-0xdc)), depth)
	case 0xde, 0xdf:
		return p.table(p.Number(2<<(c-0xde)), depth)
	}

	panic(serial.ErrFormat)
}

// scalar returns a number; c is its type byte.
func (p *msgPack) scalar(c byte) *serial.Value {
	switch c {
	case 0xca:
		return serial.OfFloat(float64(math.Float32frombits(uint32(p.Number(4)))), 32)
	case 0xcb:
		return serial.OfFloat(math.Float64frombits(p.Number(8)), 64)
	}

	size := uint64(1) << (c & 3)
	n := p.Number(size)
	if c <= 0xcf {
		return serial.Of(strconv.FormatUint(n, 10))
	}
	shift := 64 - 8*size
	return serial.OfInt(int64(n<<shift) >> shift)
}

// text returns a string, or bytes as older writers encode them.
func (p *msgPack) text(n uint64) *serial.Value {
	b := p.Next(n)
	if utf8.Valid(b) {
		return serial.OfText(string(b))
	}
	return serial.OfBytes(b)
}

func (p *msgPack) list(n uint64, depth int) *serial.Value {
	serial.Check(n <= uint64(len(p.Rest))) // each element has at least one byte
	v := &serial.Value{Kind: serial.List}
	for range n {
		v.Add("", p.value(depth+1))
	}
	return v
}

func (p *msgPack) table(n uint64, depth int) *serial.Value {
	serial.Check(n <= uint64(len(p.Rest)/2))
	v := &serial.Value{Kind: serial.Object}
	for range n {
		key := p.value(depth + 1)
		v.Put(key, p.value(depth+1))
	}

	return v
}

// extension returns a value of an application-specific type; type -1 is a time.
func (p *msgPack) extension(n uint64) *serial.Value {
	kind := int8(p.Next(1)[0])
	b := p.Next(n)
	v := &serial.Value{Kind: serial.Object}
	if at, ok := msgPackTime(b); ok && kind == -1 {
		v.Add("$time", serial.OfText(at.Format(time.RFC3339Nano)))
		return v
	}

	v.Add("$extension", serial.OfInt(int64(kind)))
	v.Add("$bytes", serial.OfBytes(b))
	return v
}

func msgPackTime(b []byte) (time.Time, bool) {
	switch len(b) {
	case 4:
		return time.Unix(int64(binary.BigEndian.Uint32(b)), 0).UTC(), true
	case 8:
		n := binary.BigEndian.Uint64(b)
		return time.Unix(int64(n&(1<<34-1)), int64(n>>34)).UTC(), true
	case 12:
		return time.Unix(int64(binary.BigEndian.Uint64(b[4:])), int64(binary.BigEndian.Uint32(b))).UTC(), true
	}

	return time.Time{}, false
}
