package body

import (
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dlxtop/dlxtop/model/serial"
)

// typed reads protobuf by its types: fields have their names, and what the types do not know its number, as on the
// wire. dynamicpb, the library's own reader, has no bound for how many values it makes of a body.
type typed struct{ wire }

// parseTyped reads a message of a type that fills the body. It is an error when a field is not what the type says, or
// when the type knows none of the fields: then the body is of another type.
func parseTyped(b []byte, of *messageType) (*serial.Value, error) {
	var t typed
	v, known, err := t.message(b, of, 0)
	if err == nil && known == 0 && len(b) > 0 {
		return nil, errStructure
	}
	return v, err
}

// occurrences are what a message has of one field, in the order of the wire.
type occurrences struct {
	number protowire.Number
	all    []wireField
}

// message reads a message. known is how many of its fields the type has.
func (t *typed) message(b []byte, of *messageType, depth int) (v *serial.Value, known int, err error) {
	var fields []*occurrences
	at := map[protowire.Number]*occurrences{}
	err = eachField(b, func(number protowire.Number, f wireField) error {
		if err := t.spend(depth); err != nil {
			return err
		}
		o := at[number]
		if o == nil {
			o = &occurrences{number: number}
			at[number], fields = o, append(fields, o)
		}
		o.all = append(o.all, f)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	v = &serial.Value{Kind: serial.Object}
	for _, o := range fields {
		field := of.fields[o.number]
		if field == nil {
			err = t.unknown(v, o, depth)
		} else {
			known++
			err = t.known(v, o, field, depth)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return v, known, nil
}

// unknown adds a field that the type does not have, by its number.
func (t *typed) unknown(v *serial.Value, o *occurrences, depth int) error {
	for _, f := range o.all {
		of, err := t.wire.value(f, depth)
		if err != nil {
			return err
		}
		v.Add(strconv.Itoa(int(o.number)), of)
	}
	return nil
}

// known adds a field of the type: of one that is not repeated the last value counts, and messages are merged, as
// protobuf has it.
func (t *typed) known(v *serial.Value, o *occurrences, field *fieldType, depth int) error {
	switch {
	case field.isMap():
		return t.mapped(v, o, field, depth)
	case field.repeated:
		list := &serial.Value{Kind: serial.List}
		for _, f := range o.all {
			if err := t.element(list, f, field, depth); err != nil {
				return err
			}
		}
		v.Add(field.name, list)
		return nil
	}
	last := o.all[len(o.all)-1]
	if len(o.all) > 1 && field.isMessage() {
		last.content = nil
		for _, f := range o.all {
			last.content = append(last.content, f.content...)
		}
	}
	of, err := t.value(last, field, depth)
	v.Add(field.name, of)
	return err
}

// element adds what a repeated field has: one value, or several numbers in a row.
func (t *typed) element(list *serial.Value, f wireField, field *fieldType, depth int) error {
	wanted := wireOf(field.kind)
	if f.kind != protowire.BytesType || wanted == protowire.BytesType || wanted == protowire.StartGroupType {
		of, err := t.value(f, field, depth)
		list.Add("", of)
		return err
	}
	for b := f.content; len(b) > 0; {
		if err := t.spend(depth); err != nil {
			return err
		}
		size := protowire.ConsumeFieldValue(1, wanted, b)
		if size < 0 {
			return errStructure
		}
		of, err := t.value(wireFieldOf(1, wanted, b[:size]), field, depth)
		if err != nil {
			return err
		}
		list.Add("", of)
		b = b[size:]
	}
	return nil
}

// mapped adds a map: its entries are messages of a key and a value.
func (t *typed) mapped(v *serial.Value, o *occurrences, field *fieldType, depth int) error {
	all := &serial.Value{Kind: serial.Object}
	for _, f := range o.all {
		if f.kind != protowire.BytesType {
			return errStructure
		}
		read, _, err := t.message(f.content, field.of, depth+1)
		if err != nil {
			return err
		}
		key, err := t.part(read, field.of.fields[1], depth+1)
		if err != nil {
			return err
		}
		of, err := t.part(read, field.of.fields[2], depth+1)
		if err != nil {
			return err
		}
		all.Add(key.Text, of)
	}
	v.Add(field.name, all)
	return nil
}

// part is the key or the value of an entry of a map; what is not there is zero.
func (t *typed) part(entry *serial.Value, field *fieldType, depth int) (*serial.Value, error) {
	for _, m := range entry.Members {
		if m.Name == field.name {
			return m.Of, nil
		}
	}
	return t.value(wireField{kind: wireOf(field.kind)}, field, depth)
}

// value is one value of a field.
func (t *typed) value(f wireField, field *fieldType, depth int) (*serial.Value, error) {
	if f.kind != wireOf(field.kind) &&
		(!field.isMessage() || f.kind != protowire.BytesType && f.kind != protowire.StartGroupType) { // editions have both
		return nil, errStructure
	}
	switch field.kind {
	case messageKind, groupKind:
		if field.of == nil { // the set was made without its imports
			return t.wire.message(f.content, depth+1)
		}
		v, _, err := t.message(f.content, field.of, depth+1)
		return v, err
	case stringKind:
		if !utf8.Valid(f.content) {
			return nil, errStructure
		}
		return serial.OfText(string(f.content)), nil
	case bytesKind:
		return &serial.Value{Kind: serial.Bytes, Text: string(f.content)}, nil
	case enumKind:
		if name, is := field.names[int32(f.number)]; is {
			return serial.OfText(name), nil
		}
	}
	return numberOf(field.kind, f.number), nil
}

// numberOf is a number of 64 bits as a kind means it.
func numberOf(kind kind, n uint64) *serial.Value {
	switch kind {
	case doubleKind:
		return serial.OfFloat(math.Float64frombits(n), 64)
	case floatKind:
		return serial.OfFloat(float64(math.Float32frombits(uint32(n))), 32)
	case boolKind:
		return serial.Of(strconv.FormatBool(n != 0))
	case int32Kind, sfixed32Kind, enumKind:
		return serial.OfInt(int64(int32(n)))
	case int64Kind, sfixed64Kind:
		return serial.OfInt(int64(n))
	case sint32Kind:
		return serial.OfInt(int64(int32(protowire.DecodeZigZag(n & math.MaxUint32))))
	case sint64Kind:
		return serial.OfInt(protowire.DecodeZigZag(n))
	case uint32Kind, fixed32Kind:
		return serial.Of(strconv.FormatUint(uint64(uint32(n)), 10))
	}
	return serial.Of(strconv.FormatUint(n, 10))
}
