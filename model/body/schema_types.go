package body

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/dlxtop/dlxtop/model"
)

// Types are protobuf message types by full name, from a descriptor set: the file that protoc --descriptor_set_out
// writes, a google.protobuf.FileDescriptorSet.
type Types map[string]protoreflect.MessageDescriptor

// MaxTypes is the maximum size of a descriptor set, in bytes.
const MaxTypes = 16 << 20

var errTypes = errors.New("it is not a descriptor set: protoc --include_imports --descriptor_set_out=FILE writes one")

// parseTypes parses a descriptor set. The error is one sentence. Types that a set imports but does not contain show
// only field numbers.
func parseTypes(set []byte) (Types, error) {
	if len(set) > MaxTypes {
		return nil, fmt.Errorf("it has more than %d MiB", MaxTypes>>20)
	}

	var parsed descriptorpb.FileDescriptorSet
	if proto.Unmarshal(set, &parsed) != nil {
		return nil, errTypes
	}
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&parsed)
	if err != nil {
		return nil, errTypes
	}

	types := Types{}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		types.add(f.Messages())
		return true
	})
	if len(types) == 0 {
		return nil, errTypes
	}

	return types, nil
}

// add adds types and those nested in them, without the entries of maps.
func (t Types) add(all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		of := all.Get(i)
		if !of.IsMapEntry() {
			t[string(of.FullName())] = of
		}
		t.add(of.Messages())
	}
}

const shownTypes = 8

// named returns a message type by its full name. The error lists the existing ones.
func (t Types) named(name string) (protoreflect.MessageDescriptor, error) {
	if of := t[name]; of != nil {
		return of, nil
	}
	names := slices.Sorted(maps.Keys(t))
	of := strings.Join(names[:min(len(names), shownTypes)], ", ")
	if more := len(names) - shownTypes; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}

	return nil, fmt.Errorf("there is no message %s in it: there are %s", model.Printable(name), of)
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
