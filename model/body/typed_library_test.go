package body

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/serial"
)

// What protobuf's own library reads of a message is what is shown.
func TestTypedAsTheLibrary(t *testing.T) {
	of := orderType(t)
	types := must.Get(parseTypes(shopSet(t)))(t)
	own := types.messages["shop.Order"]
	rapid.Check(t, func(t *rapid.T) {
		var body []byte
		for range rapid.IntRange(1, 8).Draw(t, "fields") {
			body = appendAny(t, body, of)
		}
		m := dynamicpb.NewMessage(of)
		must.Do(t, proto.Unmarshal(body, m))
		v, err := parseTyped(body, own)
		must.Do(t, err)
		must.NoDiff(t, cmp.Diff(plain(m), plainOf(v)))
	})
}

// appendAny adds a field of a random kind, also one that is there already.
func appendAny(t *rapid.T, body []byte, of protoreflect.MessageDescriptor) []byte {
	f := of.Fields().Get(rapid.IntRange(0, of.Fields().Len()-1).Draw(t, "field"))
	number := f.Number()
	n := rapid.Uint64().Draw(t, "number") | 1 // the library leaves out what is zero
	switch f.Kind() {
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		n = uint64(rapid.Uint32Range(1, 1<<20).Draw(t, "small")) // no NaN, which is not equal to itself
	case protoreflect.EnumKind:
		n = rapid.Uint64Range(1, 3).Draw(t, "state")
	case protoreflect.StringKind, protoreflect.BytesKind:
		body = protowire.AppendTag(body, number, protowire.BytesType)
		return protowire.AppendString(body, "x"+rapid.String().Draw(t, "text"))
	case protoreflect.MessageKind:
		var inner []byte
		if f.IsMap() {
			if rapid.Bool().Draw(t, "key") {
				inner = protowire.AppendTag(inner, 1, protowire.BytesType)
				inner = protowire.AppendString(inner, rapid.String().Draw(t, "text"))
			}
			if rapid.Bool().Draw(t, "value") {
				inner = protowire.AppendVarint(protowire.AppendTag(inner, 2, protowire.VarintType), n)
			}
		} else if rapid.Bool().Draw(t, "nested") {
			inner = appendAny(t, inner, of)
		}
		return protowire.AppendBytes(protowire.AppendTag(body, number, protowire.BytesType), inner)
	}
	wire := wireOf(kind(f.Kind()))
	put := func(b []byte) []byte {
		switch wire {
		case protowire.Fixed32Type:
			return protowire.AppendFixed32(b, uint32(n))
		case protowire.Fixed64Type:
			return protowire.AppendFixed64(b, n)
		}
		return protowire.AppendVarint(b, n)
	}
	if f.IsList() && rapid.Bool().Draw(t, "packed") {
		return protowire.AppendBytes(protowire.AppendTag(body, number, protowire.BytesType), put(put(nil)))
	}
	return put(protowire.AppendTag(body, number, wire))
}

// plain is a message of the library as maps, lists and texts; plainOf is a value as the same.
func plain(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			entries := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				entries[k.String()] = plainValue(f.MapValue(), v)
				return true
			})
			out[string(f.Name())] = entries
		case f.IsList():
			var list []any
			for i := range v.List().Len() {
				list = append(list, plainValue(f, v.List().Get(i)))
			}
			out[string(f.Name())] = list
		default:
			out[string(f.Name())] = plainValue(f, v)
		}
		return true
	})
	return out
}

func plainValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return plain(v.Message())
	case protoreflect.EnumKind:
		if named := f.Enum().Values().ByNumber(v.Enum()); named != nil {
			return string(named.Name())
		}
		return serial.OfInt(int64(v.Enum())).Text
	case protoreflect.BytesKind:
		return string(v.Bytes())
	case protoreflect.FloatKind:
		return serial.OfFloat(float64(math.Float32frombits(math.Float32bits(float32(v.Float())))), 32).Text
	case protoreflect.DoubleKind:
		return serial.OfFloat(v.Float(), 64).Text
	}
	return v.String()
}

func plainOf(v *serial.Value) any {
	switch v.Kind {
	case serial.Object:
		out := map[string]any{}
		for _, m := range v.Members {
			if of := plainOf(m.Of); of != nil {
				out[m.Name] = of
			}
		}
		return out
	case serial.List:
		var list []any
		for _, m := range v.Members {
			list = append(list, plainOf(m.Of))
		}
		if list == nil {
			return nil
		}
		return list
	}
	return v.Text
}

// What protobuf's own library finds in a descriptor set of many files is what is found: its own descriptors, which have
// types in types, maps, groups, enums and imports.
func TestTypesAsTheLibrary(t *testing.T) {
	var set descriptorpb.FileDescriptorSet
	var want []string
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		return true
	})
	b := must.Get(proto.Marshal(&set))(t)
	types := must.Get(parseTypes(b))(t)
	var same func(protoreflect.MessageDescriptors)
	same = func(all protoreflect.MessageDescriptors) {
		for i := range all.Len() {
			of := all.Get(i)
			own := types.messages[string(of.FullName())]
			if own == nil || own.entry != of.IsMapEntry() || len(own.fields) != of.Fields().Len() {
				t.Errorf("%s is %v", of.FullName(), own)
				continue
			}
			if !own.entry {
				want = append(want, own.name)
			}
			for i := range of.Fields().Len() {
				f := of.Fields().Get(i)
				have := own.fields[f.Number()]
				if have == nil || have.name != string(f.Name()) || have.kind != kind(f.Kind()) || have.isMap() != f.IsMap() ||
					have.repeated != (f.IsList() || f.IsMap()) || (have.of != nil) != (f.Message() != nil) ||
					have.of != nil && have.of.name != string(f.Message().FullName()) ||
					f.Enum() != nil && len(have.names) == 0 {
					t.Errorf("%s is %v", f.FullName(), have)
				}
			}
			same(of.Messages())
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool { same(f.Messages()); return true })
	slices.Sort(want)
	diff := cmp.Diff(want, types.names())
	assert.That(t, diff == "" && len(want) >= 20, "%v %v", len(want), diff)
}
