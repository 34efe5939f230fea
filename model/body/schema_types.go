package body

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/serial"
)

// Types are protobuf message types by full name, from a descriptor set: the file that protoc --descriptor_set_out
// writes, a google.protobuf.FileDescriptorSet. The library's own reader would be a tenth of the program.
type Types struct {
	messages map[string]*messageType
	enums    map[string]map[int32]string
}

type messageType struct {
	name   string // with its package
	fields map[protowire.Number]*fieldType
	entry  bool // an entry of a map: fields 1 and 2 are key and value
}

type fieldType struct {
	name, typeName string
	number         protowire.Number
	kind           protoreflect.Kind
	repeated       bool
	of             *messageType     // for messages; nil when the set lacks its imports
	names          map[int32]string // an enum's values
}

func (f *fieldType) isMessage() bool {
	return f.kind == protoreflect.MessageKind || f.kind == protoreflect.GroupKind
}

func (f *fieldType) isMap() bool { return f.repeated && f.of != nil && f.of.entry }

// MaxTypes is the maximum size of a descriptor set, in bytes.
const MaxTypes = 16 << 20

var errTypes = errors.New("it is not a descriptor set: protoc --include_imports --descriptor_set_out=FILE writes one")

// parseTypes parses a descriptor set. The error is one sentence. Types that a set imports but does not contain show
// only field numbers.
func parseTypes(set []byte) (*Types, error) {
	if len(set) > MaxTypes {
		return nil, fmt.Errorf("it has more than %d MiB", MaxTypes>>20)
	}
	t := &Types{map[string]*messageType{}, map[string]map[int32]string{}}
	_, err := serial.Try(func() any {
		eachPart(set, parts{1: func(file wireField) {
			scope := ""
			eachPart(file.content, parts{2: textInto(&scope)})
			eachPart(file.content, parts{
				4: func(f wireField) { t.readMessage(f.content, scope) },
				5: func(f wireField) { t.readEnum(f.content, scope) },
			})
		}})

		return nil
	})

	if err != nil || len(t.names()) == 0 {
		return nil, errTypes
	}
	for _, m := range t.messages {
		if m.entry && (m.fields[1] == nil || m.fields[2] == nil) {
			return nil, errTypes
		}
		for _, f := range m.fields {
			t.resolve(f, m.name)
		}
	}

	return t, nil
}

// parts are handlers for the interesting fields of a descriptor, by number in descriptor.proto.
type parts map[protowire.Number]func(wireField)

func eachPart(b []byte, wanted parts) {
	eachField(b, func(number protowire.Number, f wireField) {
		if read := wanted[number]; read != nil {
			read(f)
		}
	})
}

func textInto(to *string) func(wireField) { return func(f wireField) { *to = string(f.content) } }

func numberInto[T ~int32 | ~uint64](to *T) func(wireField) {
	return func(f wireField) { *to = T(f.number) }
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readMessage reads a DescriptorProto and the types nested in it.
func (t *Types) readMessage(b []byte, scope string) {
	m := &messageType{fields: map[protowire.Number]*fieldType{}}
	name := ""
	eachPart(b, parts{1: textInto(&name)})
	m.name = strings.TrimPrefix(scope+"."+name, ".")
	serial.Check(identifier.MatchString(name) && t.messages[m.name] == nil)
	t.messages[m.name] = m
	eachPart(b, parts{
		2: func(f wireField) { m.readField(f.content) },
		3: func(f wireField) { t.readMessage(f.content, m.name) },
		4: func(f wireField) { t.readEnum(f.content, m.name) },
		7: func(f wireField) {
			eachPart(f.content, parts{7: func(f wireField) { m.entry = f.number != 0 }})
		},
	})
}

func (m *messageType) readField(b []byte) {
	const many = 3 // LABEL_REPEATED
	f := &fieldType{}
	label := uint64(0)
	kind := uint64(0)
	eachPart(b, parts{
		1: textInto(&f.name),
		3: numberInto(&f.number),
		4: numberInto(&label),
		5: numberInto(&kind),
		6: textInto(&f.typeName),
	})

	serial.Check(identifier.MatchString(f.name) && f.number.IsValid() && m.fields[f.number] == nil &&
		kind <= uint64(protoreflect.Sint64Kind) && protoreflect.Kind(kind).IsValid())
	f.kind = protoreflect.Kind(kind)
	f.repeated = label == many
	m.fields[f.number] = f
}

// readEnum reads an EnumDescriptorProto. If a number has several names, the first one wins.
func (t *Types) readEnum(b []byte, scope string) {
	name, values := "", map[int32]string{}
	eachPart(b, parts{1: textInto(&name), 2: func(f wireField) {
		var name string
		var number int32
		eachPart(f.content, parts{1: textInto(&name), 2: numberInto(&number)})
		if _, is := values[number]; !is {
			values[number] = name
		}
	}})

	t.enums[strings.TrimPrefix(scope+"."+name, ".")] = values
}

// resolve finds the type of a field: by its full name, which begins with a dot, or searching outwards from its scope.
func (t *Types) resolve(f *fieldType, scope string) {
	name, full := strings.CutPrefix(f.typeName, ".")
	for {
		at := name
		if !full && scope != "" {
			at = scope + "." + name
		}
		if f.of, f.names = t.messages[at], t.enums[at]; f.of != nil || f.names != nil || full || scope == "" {
			return
		}
		scope = scope[:max(0, strings.LastIndexByte(scope, '.'))]
	}
}

const shownTypes = 8

// named is a message type by its full name. The error lists the existing ones.
func (t *Types) named(name string) (*messageType, error) {
	if of := t.messages[name]; of != nil && !of.entry {
		return of, nil
	}
	names := t.names()
	of := strings.Join(names[:min(len(names), shownTypes)], ", ")
	if more := len(names) - shownTypes; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}

	return nil, fmt.Errorf("there is no message %s in it: there are %s", model.Printable(name), of)
}

// names are the names of all message types, sorted.
func (t *Types) names() []string {
	all := slices.Sorted(maps.Keys(t.messages))
	return slices.DeleteFunc(all, func(name string) bool { return t.messages[name].entry })
}

func wireOf(of protoreflect.Kind) protowire.Type {
	switch of {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}

	return protowire.VarintType
}
