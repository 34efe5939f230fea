package body

import (
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dlxtop/dlxtop/model/serial"
)

// typed decodes protobuf with its types: known fields have names, unknown ones their numbers as on the wire. The
// library's own decoder, dynamicpb, does not bound the number of values that it makes of a body.
type typed struct{ wire }

// parseTyped decodes a body as a message of a type. It fails when a field does not fit the type, or when the type has
// none of the fields: then the body has another type.
func parseTyped(b []byte, of protoreflect.MessageDescriptor) *serial.Value {
	t := typed{wire{readerOf(nil)}}
	v, known := t.message(b, of, 0)
	serial.Check(known > 0 || len(b) == 0)
	return v
}

// message decodes a message. known is how many of its fields the type has.
func (t *typed) message(b []byte, of protoreflect.MessageDescriptor, depth int) (v *serial.Value, known int) {
	var order []protowire.Number
	fields := map[protowire.Number][]wireField{} // the occurrences of each field, in wire order
	eachField(b, func(number protowire.Number, f wireField) {
		t.Spend(depth)
		if fields[number] == nil {
			order = append(order, number)
		}
		fields[number] = append(fields[number], f)
	})

	v = &serial.Value{Kind: serial.Object}
	for _, number := range order {
		if field := of.Fields().ByNumber(number); field != nil {
			known++
			v.Add(string(field.Name()), t.known(fields[number], field, depth))
			continue
		}
		for _, f := range fields[number] {
			v.Add(strconv.Itoa(int(number)), t.wire.value(f, depth))
		}
	}

	return v, known
}

// known returns a field of the type: if it is not repeated, the last value wins and messages are merged, as in
// protobuf.
func (t *typed) known(all []wireField, field protoreflect.FieldDescriptor, depth int) *serial.Value {
	switch {
	case field.IsMap():
		return t.mapped(all, field, depth)
	case field.IsList():
		list := &serial.Value{Kind: serial.List}
		for _, f := range all {
			t.element(list, f, field, depth)
		}
		return list
	}

	last := all[len(all)-1]
	if len(all) > 1 && field.Message() != nil {
		last.content = nil
		for _, f := range all {
			last.content = append(last.content, f.content...)
		}
	}

	return t.value(last, field, depth)
}

// element adds an occurrence of a repeated field: one value, or several packed numbers.
func (t *typed) element(list *serial.Value, f wireField, field protoreflect.FieldDescriptor, depth int) {
	wanted := wireOf(field.Kind())
	if f.kind != protowire.BytesType || wanted == protowire.BytesType || wanted == protowire.StartGroupType {
		list.Add("", t.value(f, field, depth))
		return
	}

	for b := f.content; len(b) > 0; {
		t.Spend(depth)
		size := protowire.ConsumeFieldValue(1, wanted, b)
		serial.Check(size >= 0)
		list.Add("", t.value(wireFieldOf(1, wanted, b[:size]), field, depth))
		b = b[size:]
	}
}

// mapped returns a map: its entries are messages with a key and a value.
func (t *typed) mapped(entries []wireField, field protoreflect.FieldDescriptor, depth int) *serial.Value {
	all := &serial.Value{Kind: serial.Object}
	for _, f := range entries {
		serial.Check(f.kind == protowire.BytesType)
		entry, _ := t.message(f.content, field.Message(), depth+1)
		part := func(of protoreflect.FieldDescriptor) *serial.Value { // a missing part is zero
			if v := entry.Member(string(of.Name())); v != nil {
				return v
			}
			return t.value(wireField{kind: wireOf(of.Kind())}, of, depth+1)
		}

		all.Add(part(field.MapKey()).Text, part(field.MapValue()))
	}

	return all
}

func (t *typed) value(f wireField, field protoreflect.FieldDescriptor, depth int) *serial.Value {
	// Editions allow both ways to write a message.
	serial.Check(f.kind == wireOf(field.Kind()) ||
		field.Message() != nil && (f.kind == protowire.BytesType || f.kind == protowire.StartGroupType))
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if field.Message().IsPlaceholder() { // the descriptor set lacks its imports
			return t.wire.message(f.content, depth+1)
		}
		v, _ := t.message(f.content, field.Message(), depth+1)
		return v
	case protoreflect.StringKind:
		serial.Check(utf8.Valid(f.content))
		return serial.OfText(string(f.content))
	case protoreflect.BytesKind:
		return &serial.Value{Kind: serial.Bytes, Text: string(f.content)}
	case protoreflect.EnumKind:
		if named := field.Enum().Values().ByNumber(protoreflect.EnumNumber(f.number)); named != nil {
			return serial.OfText(string(named.Name()))
		}
	}

	return numberOf(field.Kind(), f.number)
}

func numberOf(kind protoreflect.Kind, n uint64) *serial.Value {
	switch kind {
	case protoreflect.DoubleKind:
		return serial.OfFloat(math.Float64frombits(n), 64)
	case protoreflect.FloatKind:
		return serial.OfFloat(float64(math.Float32frombits(uint32(n))), 32)
	case protoreflect.BoolKind:
		return serial.Of(strconv.FormatBool(n != 0))
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind, protoreflect.EnumKind:
		return serial.OfInt(int64(int32(n)))
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return serial.OfInt(int64(n))
	case protoreflect.Sint32Kind:
		return serial.OfInt(int64(int32(protowire.DecodeZigZag(n & math.MaxUint32))))
	case protoreflect.Sint64Kind:
		return serial.OfInt(protowire.DecodeZigZag(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return serial.Of(strconv.FormatUint(uint64(uint32(n)), 10))
	}

	return serial.Of(strconv.FormatUint(n, 10))
}
