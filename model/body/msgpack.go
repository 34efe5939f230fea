package body

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model/serial"
)

// msgPack reads MessagePack (msgpack.org, spec.md of 2017). The Go libraries for it read into maps, which lose the
// order of keys and keys that are there twice.
type msgPack struct {
	budget
	rest []byte
}

// parseMsgPack reads one value that fills the body.
func parseMsgPack(b []byte) (*serial.Value, error) {
	p := msgPack{rest: b}
	v, err := p.value(0)
	if err == nil && len(p.rest) > 0 {
		err = errStructure
	}
	return v, err
}

// take is the next n bytes; nil when there are fewer.
func (p *msgPack) take(n uint64) ([]byte, bool) {
	if n > uint64(len(p.rest)) {
		return nil, false
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b, true
}

// number is a big-endian number of 1, 2, 4 or 8 bytes.
func (p *msgPack) number(size uint64) (uint64, bool) {
	b, ok := p.take(size)
	var n [8]byte
	copy(n[8-len(b):], b)
	return binary.BigEndian.Uint64(n[:]), ok
}

func (p *msgPack) value(depth int) (*serial.Value, error) {
	op, ok := p.take(1)
	if !ok {
		return nil, errStructure
	}
	if err := p.spend(depth); err != nil {
		return nil, err
	}
	switch c := op[0]; {
	case c < 0x80:
		return serial.OfInt(int64(c)), nil
	case c < 0x90:
		return p.table(uint64(c&0xf), depth)
	case c < 0xa0:
		return p.list(uint64(c&0xf), depth)
	case c < 0xc0:
		return p.text(uint64(c & 0x1f))
	case c >= 0xe0:
		return serial.OfInt(int64(int8(c))), nil
	case c == 0xc0:
		return serial.Of("null"), nil
	case c == 0xc2, c == 0xc3:
		return serial.Of(strconv.FormatBool(c == 0xc3)), nil
	case c >= 0xca && c <= 0xd3:
		return p.scalar(c)
	case c >= 0xd4 && c <= 0xd8: // an extension of 1 to 16 bytes
		return p.extension(1 << (c - 0xd4))
	case c == 0xc1:
		return nil, errStructure
	default:
		return p.sized(c, depth)
	}
}

// scalar is a number of the byte that says its kind.
func (p *msgPack) scalar(c byte) (*serial.Value, error) {
	size := uint64(1) << ((c - 0xcc) & 3)
	if c < 0xcc {
		size = 4 << (c - 0xca)
	}
	n, ok := p.number(size)
	switch {
	case !ok:
		return nil, errStructure
	case c == 0xca:
		return serial.OfFloat(float64(math.Float32frombits(uint32(n))), 32), nil
	case c == 0xcb:
		return serial.OfFloat(math.Float64frombits(n), 64), nil
	case c <= 0xcf:
		return serial.Of(strconv.FormatUint(n, 10)), nil
	}
	shift := 64 - 8*size
	return serial.OfInt(int64(n<<shift) >> shift), nil
}

// sized is a value that brings its length.
func (p *msgPack) sized(c byte, depth int) (*serial.Value, error) {
	kinds := map[byte]struct {
		kind byte
		size uint64
	}{
		0xc4: {'b', 1}, 0xc5: {'b', 2}, 0xc6: {'b', 4}, 0xc7: {'e', 1}, 0xc8: {'e', 2}, 0xc9: {'e', 4},
		0xd9: {'s', 1}, 0xda: {'s', 2}, 0xdb: {'s', 4}, 0xdc: {'l', 2}, 0xdd: {'l', 4}, 0xde: {'m', 2}, 0xdf: {'m', 4},
	}
	of := kinds[c]
	n, ok := p.number(of.size)
	if !ok {
		return nil, errStructure
	}
	switch of.kind {
	case 'b':
		b, ok := p.take(n)
		if !ok {
			return nil, errStructure
		}
		return serial.OfBytes(b), nil
	case 'e':
		return p.extension(n)
	case 's':
		return p.text(n)
	case 'l':
		return p.list(n, depth)
	}
	return p.table(n, depth)
}

// text is a string, which older writers have for bytes, too.
func (p *msgPack) text(n uint64) (*serial.Value, error) {
	b, ok := p.take(n)
	if !ok {
		return nil, errStructure
	}
	if utf8.Valid(b) {
		return serial.OfText(string(b)), nil
	}
	return serial.OfBytes(b), nil
}

func (p *msgPack) list(n uint64, depth int) (*serial.Value, error) {
	if n > uint64(len(p.rest)) { // each element has a byte at least
		return nil, errStructure
	}
	v := &serial.Value{Kind: serial.List}
	for range n {
		e, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Add("", e)
	}
	return v, nil
}

func (p *msgPack) table(n uint64, depth int) (*serial.Value, error) {
	if n > uint64(len(p.rest)/2) {
		return nil, errStructure
	}
	v := &serial.Value{Kind: serial.Object}
	for range n {
		key, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		e, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Put(key, e)
	}
	return v, nil
}

// extension is a value of an application's own kind; kind -1 is a time.
func (p *msgPack) extension(n uint64) (*serial.Value, error) {
	kind, ok := p.take(1)
	if !ok {
		return nil, errStructure
	}
	b, ok := p.take(n)
	if !ok {
		return nil, errStructure
	}
	v := &serial.Value{Kind: serial.Object}
	if at, ok := msgPackTime(b); ok && int8(kind[0]) == -1 {
		v.Add("$time", serial.OfText(at.Format(time.RFC3339Nano)))
		return v, nil
	}
	v.Add("$extension", serial.OfInt(int64(int8(kind[0]))))
	v.Add("$bytes", serial.OfBytes(b))
	return v, nil
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
