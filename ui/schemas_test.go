package ui

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
)

// A body of a queue that the configuration has a type for is shown with its names, also beside another one; what is
// wrong with the type stands where the body does.
func TestProtobufByName(t *testing.T) {
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("shop.proto"), Package: proto.String("shop"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Order"),
			Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String("customer"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			}},
		}},
	}}})
	must.Do(t, err)
	schema := func(set []byte, unread error, name string) body.Schemas {
		s := must.Get(body.NewSchema("/etc/shop.desc", set, unread, name, "ucenter*", ""))(t)
		return body.Schemas{s}
	}
	for _, test := range []struct {
		name    string
		schemas body.Schemas
		seen    []string
	}{
		{"its type", schema(set, nil, "shop.Order"), []string{"protobuf shop.Order", `"customer": "guan yu"`}},
		{"another type", schema(set, nil, "shop.Orders"), []string{"there is no message shop.Orders in", "shop.Order"}},
		{"no file", schema(nil, errors.New("no such file or directory"), "shop.Order"), []string{"/etc/shop.desc: no such"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, b, _ := failedOptions(0)
			for _, name := range []string{"guan yu", "zhang fei"} {
				m := message.Message{Body: []byte("\x12" + string(rune(len(name))) + name)}
				m.Properties.ContentType = "application/octet-stream"
				b.put(failedQueue, m)
			}
			o.Schemas = test.schemas
			term := onQueue(t, o, failedQueue, 160, 36)
			term.await("2 messages")
			term.press(keyEnter)
			term.await(test.seen...)
			if test.name != "its type" {
				return
			}
			term.press("q")
			term.await("2 messages")
			term.press(" ", keyDown, " ", "=")
			term.await("protobuf shop.Order", `"customer": "guan yu"`, `"customer": "zhang fei"`)
		})
	}
}
