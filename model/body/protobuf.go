package body

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dlxtop/dlxtop/model/serial"
)

// wire reads protobuf without its schema: fields have numbers and no names, and what has a length may be a text, bytes
// or another message.
type wire struct{ budget }

// parseWire reads a message that fills the body.
func parseWire(b []byte) (*serial.Value, error) {
	var w wire
	return w.message(b, 0)
}

func (w *wire) message(b []byte, depth int) (*serial.Value, error) {
	v := &serial.Value{Kind: serial.Object}
	err := eachField(b, func(number protowire.Number, f wireField) error {
		if err := w.spend(depth); err != nil {
			return err
		}
		of, err := w.value(f, depth)
		v.Add(strconv.Itoa(int(number)), of)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (w *wire) value(f wireField, depth int) (*serial.Value, error) {
	switch f.kind {
	case protowire.VarintType:
		return serial.Of(strconv.FormatUint(f.number, 10)), nil
	case protowire.Fixed32Type:
		return fixed(f.number, float64(math.Float32frombits(uint32(f.number))), 32), nil
	case protowire.Fixed64Type:
		return fixed(f.number, math.Float64frombits(f.number), 64), nil
	case protowire.StartGroupType:
		return w.message(f.content, depth+1)
	}
	if readable(f.content) {
		return serial.OfText(string(f.content)), nil
	}
	if v, err := w.message(f.content, depth+1); err == nil {
		return v, nil
	}
	if w.values > maxValues {
		return nil, errTooMuch
	}
	return &serial.Value{Kind: serial.Bytes, Text: string(f.content)}, nil
}

// wireField is a field as it is on the wire.
type wireField struct {
	kind    protowire.Type
	number  uint64 // of a varint, and of 4 and 8 bytes
	content []byte // of what has a length, or is a group
}

// eachField calls with each field of a message.
func eachField(b []byte, each func(protowire.Number, wireField) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errStructure
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, kind, b)
		if size < 0 || kind == protowire.EndGroupType {
			return errStructure
		}
		if err := each(number, wireFieldOf(number, kind, b[:size])); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// wireFieldOf is a field whose bytes were checked.
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

// fixed is a number of 4 or 8 bytes, which may be whole or have a fraction: only the schema knows.
func fixed(n uint64, f float64, bits int) *serial.Value {
	v := &serial.Value{Kind: serial.Object}
	v.Add("$fixed"+strconv.Itoa(bits), serial.Of(strconv.FormatUint(n, 10)))
	v.Add("$float", serial.OfFloat(f, bits))
	return v
}
