package body

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dlxtop/dlxtop/model/serial"
)

// wire decodes protobuf without a schema: fields have numbers and no names, and a length-delimited one may be a text,
// bytes or another message.
type wire struct{ serial.Reader }

func parseWire(b []byte) *serial.Value {
	w := wire{readerOf(nil)}
	return w.message(b, 0)
}

func (w *wire) message(b []byte, depth int) *serial.Value {
	v := &serial.Value{Kind: serial.Object}
	eachField(b, func(number protowire.Number, f wireField) {
		w.Spend(depth)
		v.Add(strconv.Itoa(int(number)), w.value(f, depth))
	})

	return v
}

func (w *wire) value(f wireField, depth int) *serial.Value {
	switch f.kind {
	case protowire.VarintType:
		return serial.Of(strconv.FormatUint(f.number, 10))
	case protowire.Fixed32Type:
		return fixed(f.number, float64(math.Float32frombits(uint32(f.number))), 32)
	case protowire.Fixed64Type:
		return fixed(f.number, math.Float64frombits(f.number), 64)
	case protowire.StartGroupType:
		return w.message(f.content, depth+1)
	}

	if readable(f.content) {
		return serial.OfText(string(f.content))
	}
	if v, err := serial.Try(func() *serial.Value { return w.message(f.content, depth+1) }); err == nil {
		return v
	}
	if w.Values > maxValues {
		panic(serial.ErrTooMuch)
	}

	return &serial.Value{Kind: serial.Bytes, Text: string(f.content)}
}

type wireField struct {
	kind    protowire.Type
	number  uint64 // for a varint, and for 4 and 8 bytes
	content []byte // of a length-delimited field, or a group
}

func eachField(b []byte, each func(protowire.Number, wireField)) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		serial.Check(n >= 0)
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, kind, b)
		serial.Check(size >= 0 && kind != protowire.EndGroupType)
		each(number, wireFieldOf(number, kind, b[:size]))
		b = b[size:]
	}
}

// wireFieldOf makes a field from bytes that were validated.
func wireFieldOf(number protowire.Number, kind protowire.Type, b []byte) wireField {
	f := wireField{kind: kind}
	switch kind {
	case protowire.VarintType:
		f.number, _ = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		n, _ := protowire.ConsumeFixed32(b)
		f.number = uint64(n)
	case protowire.Fixed64Type:
		f.number, _ = protowire.ConsumeFixed64(b)
	case protowire.StartGroupType:
		f.content, _ = protowire.ConsumeGroup(number, b)
	default:
		f.content, _ = protowire.ConsumeBytes(b)
	}

	return f
}

// fixed returns a number of 4 or 8 bytes, an integer or a float: only the schema knows.
func fixed(n uint64, f float64, bits int) *serial.Value {
	v := &serial.Value{Kind: serial.Object}
	v.Add("$fixed"+strconv.Itoa(bits), serial.Of(strconv.FormatUint(n, 10)))
	v.Add("$float", serial.OfFloat(f, bits))
	return v
}
