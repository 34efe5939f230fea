package body

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/dlxtop/dlxtop/model"
)

// Types are the message types of protobuf by their full names, as a descriptor set has them: the file that protoc
// --descriptor_set_out writes, a google.protobuf.FileDescriptorSet.
type Types struct{ files *protoregistry.Files }

// MaxTypes bounds a descriptor set, in bytes.
const MaxTypes = 16 << 20

var errTypes = errors.New("it is not a descriptor set: protoc --include_imports --descriptor_set_out=FILE writes one")

// parseTypes reads a descriptor set. The error is one sentence. What a set imports and does not have is known by its
// field numbers only.
func parseTypes(set []byte) (*Types, error) {
	if len(set) > MaxTypes {
		return nil, fmt.Errorf("it has more than %d MiB", MaxTypes>>20)
	}
	var all descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &all); err != nil {
		return nil, errTypes
	}
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&all)
	if err != nil {
		return nil, errTypes
	}
	if t := (&Types{files}); len(t.names()) > 0 {
		return t, nil
	}
	return nil, errTypes
}

// shownTypes is how many names of types an error has.
const shownTypes = 8

// named is a message type by its full name. The error says which there are.
func (t *Types) named(name string) (protoreflect.MessageDescriptor, error) {
	if found, err := t.files.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
		if of, ok := found.(protoreflect.MessageDescriptor); ok && !of.IsMapEntry() {
			return of, nil
		}
	}
	names := t.names()
	of := strings.Join(names[:min(len(names), shownTypes)], ", ")
	if more := len(names) - shownTypes; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}
	return nil, fmt.Errorf("there is no message %s in it: there are %s", model.Printable(name), of)
}

// names are those of all message types, sorted.
func (t *Types) names() (all []string) {
	var add func(protoreflect.MessageDescriptors)
	add = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			if m := messages.Get(i); !m.IsMapEntry() {
				all = append(all, string(m.FullName()))
				add(m.Messages())
			}
		}
	}
	t.files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		add(f.Messages())
		return true
	})
	slices.Sort(all)
	return all
}

// wireOf is how a kind is on the wire.
func wireOf(kind protoreflect.Kind) protowire.Type {
	switch kind {
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
