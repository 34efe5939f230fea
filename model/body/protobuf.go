package body

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire reads protobuf without its schema: fields have numbers and no names, and what has a length may be a text, bytes
// or another message.
type wire struct{ budget }

// parseWire reads a message that fills the body.
func parseWire(b []byte) (*value, error) {
	var w wire
	return w.message(b, 0)
}

func (w *wire) message(b []byte, depth int) (*value, error) {
	v := &value{kind: objectValue}
	for len(b) > 0 {
		if err := w.spend(depth); err != nil {
			return nil, err
		}
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, errStructure
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, kind, b)
		if size < 0 || kind == protowire.EndGroupType {
			return nil, errStructure
		}
		of, err := w.field(number, kind, b[:size], depth)
		if err != nil {
			return nil, err
		}
		v.add(strconv.Itoa(int(number)), of)
		b = b[size:]
	}
	return v, nil
}

// field is the value of a field, whose bytes were checked.
func (w *wire) field(number protowire.Number, kind protowire.Type, b []byte, depth int) (*value, error) {
	switch kind {
	case protowire.VarintType:
		n, _ := protowire.ConsumeVarint(b)
		return literal(strconv.FormatUint(n, 10)), nil
	case protowire.Fixed32Type:
		n, _ := protowire.ConsumeFixed32(b)
		return fixed(uint64(n), float64(math.Float32frombits(n)), 32), nil
	case protowire.Fixed64Type:
		n, _ := protowire.ConsumeFixed64(b)
		return fixed(n, math.Float64frombits(n), 64), nil
	case protowire.StartGroupType:
		inner, _ := protowire.ConsumeGroup(number, b)
		return w.message(inner, depth+1)
	}
	inner, _ := protowire.ConsumeBytes(b)
	if readable(inner) {
		return text(string(inner)), nil
	}
	if v, err := w.message(inner, depth+1); err == nil {
		return v, nil
	}
	if w.values > maxValues {
		return nil, errTooMuch
	}
	return &value{kind: bytesValue, text: string(inner)}, nil
}

// fixed is a number of 4 or 8 bytes, which may be whole or have a fraction: only the schema knows.
func fixed(n uint64, f float64, bits int) *value {
	v := &value{kind: objectValue}
	v.add("$fixed"+strconv.Itoa(bits), literal(strconv.FormatUint(n, 10)))
	v.add("$float", float(f, bits))
	return v
}
