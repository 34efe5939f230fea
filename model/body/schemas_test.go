package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/serial"
)

// shopFile declares shop.Order, which has a field of each kind and is recursive.
func shopFile() *descriptorpb.FileDescriptorProto {
	fields, n := "", 0
	add := func(label, name, kind, of string) {
		n++
		fields += fmt.Sprintf("field {name: %q number: %d type: %s label: LABEL_%s", name, n, kind, label)
		if of != "" {
			fields += fmt.Sprintf(" type_name: %q", of)
		}
		fields += "}\n"
	}

	for i := range int32(18) {
		kind := descriptorpb.FieldDescriptorProto_Type(i + 1).String()
		of := map[string]string{"TYPE_MESSAGE": ".shop.Order", "TYPE_ENUM": ".shop.State"}[kind]
		if name := strings.ToLower(strings.TrimPrefix(kind, "TYPE_")); name != "group" {
			add("OPTIONAL", "a_"+name, kind, of)
			add("REPEATED", "many_"+name, kind, of)
		}
	}

	add("REPEATED", "prices", "TYPE_MESSAGE", ".shop.Order.PricesEntry")

	return fileOf(`name: "shop.proto" package: "shop" syntax: "proto3" message_type {name: "Order" ` + fields + `
		nested_type {name: "PricesEntry" options {map_entry: true}
			field {name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING}
			field {name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_INT32}}}
		message_type {name: "Empty"}
		enum_type {name: "State" value {name: "NEW" number: 0} value {name: "PAID" number: 1}}`)
}

func fileOf(text string) *descriptorpb.FileDescriptorProto {
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(text), &file); err != nil {
		panic(err)
	}
	return &file
}

func shopSet(t testing.TB) []byte {
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{shopFile()}})
	must.Do(t, err)
	return set
}

func orderType(t testing.TB) protoreflect.MessageDescriptor {
	file := must.Get(protodesc.NewFile(shopFile(), nil))(t)
	return file.Messages().ByName("Order")
}

// shown returns the value of a view that was decoded as a structure, as JSON.
func shown(t testing.TB, v View) (of any) {
	t.Helper()
	var b strings.Builder
	for _, l := range v.Lines {
		b.WriteString(l.String())
	}

	d := json.NewDecoder(strings.NewReader(b.String()))
	d.UseNumber()
	err := d.Decode(&of)
	must.That(t, err == nil, "%v: %s", err, b.String())
	return of
}

func schemasOf(t testing.TB, name, queues, contentType string) Schemas {
	t.Helper()
	s := must.Get(NewSchema("/etc/orders.desc", shopSet(t), nil, name, queues, contentType))(t)
	return Schemas{s}
}

var orders = build.Ref("orders.failed")

// orderBody returns a body of shop.Order.
func orderBody(t testing.TB, text string) string {
	m := dynamicpb.NewMessage(orderType(t))
	must.Do(t, protojson.Unmarshal([]byte(text), m))
	b := must.Get(proto.MarshalOptions{Deterministic: true}.Marshal(m))(t)
	return string(b)
}

func TestProtobufByItsTypes(t *testing.T) {
	body := orderBody(t, `{"aString":"née","manySint32":[-1,2],"aEnum":"PAID","manyEnum":["NEW",7],"aBytes":"AP8=",
		"aMessage":{"aInt64":"-5","aBool":true},"prices":{"b":2,"":0},"aDouble":1.5,"aFloat":"Infinity"}`)
	body += string(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 121)) // newer
	v := schemasOf(t, "shop.Order", "orders.*", "").Read(orders, messageOf(body, "application/octet-stream", ""))
	must.Equal(t, v.Title, "protobuf shop.Order")
	must.Equal(t, v.Problem, "")
	must.Equal(t, v.Format, Protobuf)

	want := map[string]any{
		"a_string": "née", "many_sint32": []any{json.Number("-1"), json.Number("2")}, "a_enum": "PAID",
		"many_enum": []any{"NEW", json.Number("7")}, "a_bytes": map[string]any{"$bytes": "AP8="},
		"a_message": map[string]any{"a_int64": json.Number("-5"), "a_bool": json.Number("true")},
		"prices":    map[string]any{"b": json.Number("2"), "": json.Number("0")}, "a_double": json.Number("1.5"),
		"a_float": "+Inf", "99": json.Number("121"),
	}

	want["a_message"].(map[string]any)["a_bool"] = true
	assert.NoDiff(t, cmp.Diff(want, shown(t, v)))
}

// Which bodies a schema applies to.
func TestSchemasAreChosen(t *testing.T) {
	body := orderBody(t, `{"aString":"x"}`)
	for _, test := range []struct {
		name, queues, contentType string // of the schema
		queue, of, kind           string // of the message
		title                     string
	}{
		{"shop.Order", "orders.*", "", "orders.failed", "", "", "protobuf shop.Order"},
		{"shop.Order", "prod/orders.*", "", "orders.failed", "application/x-protobuf", "", "protobuf shop.Order"},
		{"shop.Order", "orders.*", "", "mail.failed", "application/x-protobuf", "", "protobuf"},
		{"shop.Order", "orders.*", "", "orders.failed", "application/msgpack", "", ""},
		{"shop.Order", "", "", "mail", "application/x-protobuf", "", "protobuf shop.Order"},
		{"shop.Order", "", "", "mail", "application/octet-stream", "", ""},
		{"shop.Order", "", "Application/X-Shop*", "mail", "application/x-shop; v=2", "", "protobuf shop.Order"},
		{"shop.{{type}}", "orders.*", "", "orders.failed", "", "Order", "protobuf shop.Order"},
		{"{{headers.proto}}", "orders.*", "", "orders.failed", "", "", "protobuf shop.Order"},
	} {
		m := messageOf(body, test.of, "")
		m.Properties.Type = test.kind
		m.Headers = model.Table{"proto": "shop.Order"}
		v := schemasOf(t, test.name, test.queues, test.contentType).Read(model.QueueRef{VHost: "prod", Name: test.queue}, m)
		assert.That(t, v.Title == test.title, "%+v: %q, %q", test, v.Title, v.Problem)
	}

	both := append(schemasOf(t, "shop.Empty", "mail", ""), schemasOf(t, "shop.Order", "", "")...)
	assert.Equal(t, both.Read(orders, messageOf(body, "application/protobuf", "")).Title, "protobuf shop.Order")
	packed := schemasOf(t, "shop.Order", "orders.*", "").Read(orders, messageOf(gzipped(body), "", "gzip"))
	assert.That(t, strings.HasPrefix(packed.Title, "gzip → protobuf shop.Order"), "%+v", packed)
}

// A problem is one sentence beside the body, which is decoded as without a schema.
func TestBadSchemas(t *testing.T) {
	good := orderBody(t, `{"aString":"x"}`)
	set := shopSet(t)
	deep := []byte(good)
	for range 100 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 19, protowire.BytesType), deep) // a_message
	}

	const allTypes = "/etc/orders.desc: there is no message shop.Orders in it: there are shop.Empty, shop.Order"
	for name, test := range map[string]struct {
		set     []byte
		unread  error
		message string
		body    string
		problem string
		title   string
	}{
		"no file": {nil, errors.New("no such file"), "shop.Order", good, "orders.desc: no such file", "protobuf"},
		"no set":  {[]byte("syntax = \"proto3\";"), nil, "shop.Order", good, "descriptor set: protoc", "protobuf"},
		"empty":   {nil, nil, "shop.Order", good, "/etc/orders.desc: it is not a descriptor set", "protobuf"},
		"cut":     {set[:len(set)/2], nil, "shop.Order", good, "not a descriptor set", "protobuf"},

		"large":          {make([]byte, MaxTypes+1), nil, "shop.Order", good, "more than 16 MiB", "protobuf"},
		"no message":     {set, nil, "shop.Orders", good, allTypes, "protobuf"},
		"no field":       {set, nil, "shop.{{type}}", good, "protobuf type unknown: this message has no type", "protobuf"},
		"an odd name":    {set, nil, "\x1b[2J", good, "there is no message ", "protobuf"},
		"another type":   {set, nil, "shop.Empty", good, "not shop.Empty, although the configuration says so", "protobuf"},
		"another kind":   {set, nil, "shop.Order", "\x08\x01", "not shop.Order", "protobuf"}, // a_double as a varint
		"no UTF-8":       {set, nil, "shop.Order", "\x8a\x01\x02\xff\xfe", "not shop.Order", "protobuf"},
		"text":           {set, nil, "shop.Order", "hello, this is text", "not shop.Order", ""},
		"cut off":        {set, nil, "shop.Order", good[:len(good)-1], "not shop.Order", ""},
		"a deep body":    {set, nil, "shop.Order", string(deep), "", "protobuf"},
		"an empty group": {set, nil, "shop.Order", "\x0b", "not shop.Order", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := must.Get(NewSchema("/etc/orders.desc", test.set, test.unread, test.message, "", ""))(t)

			var v View
			m := messageOf(test.body, "application/protobuf", "")
			limit.Check(t, len(test.body), func() { v = Schemas{s}.Read(orders, m) })

			assert.Contains(t, v.Problem, test.problem)
			assert.Equal(t, v.Title, test.title)
			assert.Equal(t, model.Printable(v.Problem), v.Problem)
			assert.That(t, len(v.Problem) <= 300, "%q, %q, %q", v.Title, v.Problem, v.Note)
			assert.That(t, name != "a deep body" || strings.Contains(v.Note, "shop.Order, too large to be shown"),
				"note %q", v.Note)
		})
	}

	for _, bad := range []struct{ file, name, want string }{
		{"", "a", "needs descriptors and a message"},
		{"a", "", "needs descriptors and a message"},
		{"a", "{{nothing}}", "no field nothing"},
	} {
		_, err := NewSchema(bad.file, nil, nil, bad.name, "", "")
		assert.Fails(t, err, bad.want, "%v", bad)
	}
}

// Any descriptor set and body give an error of one line, or a bounded view.
func FuzzTypes(f *testing.F) {
	f.Add(shopSet(f), []byte(orderBody(f, `{"aString":"x","prices":{"a":1},"manyInt32":[1,2]}`)), "shop.Order")
	f.Add([]byte("\x0a\x02\x22\x00"), []byte("\x08\x01"), "a")
	f.Fuzz(func(t *testing.T, set, body []byte, name string) {
		limit.Check(t, len(set)+len(body)+len(name), func() {
			s, err := NewSchema("f.desc", set, nil, name, "", "")
			if err != nil {
				must.That(t, !strings.ContainsAny(err.Error(), "\r\n\x1b"), "%q", err)
				must.That(t, len(err.Error()) <= 1000, "%q", err)
				return
			}

			m := &message.Message{Body: bytes.Clone(body), BodyBytes: len(body)}
			m.Properties.ContentType = "application/protobuf"
			v := Schemas{s}.Read(orders, m)
			must.That(t, bytes.Equal(m.Body, body), "%d bytes: %q", shownOf(v), v.Problem)
			must.That(t, shownOf(v) <= 4*maxShown, "%d bytes: %q", shownOf(v), v.Problem)
			for _, line := range append(read(v).Lines, v.Title, v.Note, v.Problem) {
				build.CheckPrintable(t, line)
			}
		})
	})
}

// A set without its imports still has names; imported types show field numbers.
func TestTypesWithoutTheirImports(t *testing.T) {
	set := must.Get(proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{fileOf(`
		name: "box.proto" package: "shop" dependency: "money.proto" message_type {name: "Box"
			field {name: "price" number: 1 type: TYPE_MESSAGE type_name: ".money.Amount"}
			field {name: "state" number: 2 type: TYPE_ENUM type_name: ".money.State"}}`)}}))(t)

	s := must.Get(NewSchema("/etc/box.desc", set, nil, "shop.Box", "", ""))(t)
	v := Schemas{s}.Read(orders, messageOf("\x0a\x02\x08\x05\x10\x03", "application/protobuf", ""))
	want := map[string]any{"price": map[string]any{"1": json.Number("5")}, "state": json.Number("3")}
	must.That(t, v.Problem == "", "%+v", v)
	assert.NoDiff(t, cmp.Diff(want, shown(t, v)))
}

// The result must match protobuf's own library.
func TestTypedAsTheLibrary(t *testing.T) {
	of := orderType(t)
	types := must.Get(parseTypes(shopSet(t)))(t)
	own := types["shop.Order"]
	rapid.Check(t, func(t *rapid.T) {
		var body []byte
		for range rapid.IntRange(1, 8).Draw(t, "fields") {
			body = appendAny(t, body, of)
		}
		m := dynamicpb.NewMessage(of)
		must.Do(t, proto.Unmarshal(body, m))
		v := must.Get(serial.Try(func() *serial.Value { return parseTyped(body, own) }))(t)
		must.NoDiff(t, cmp.Diff(plain(m), plainOf(v)))
	})
}

// appendAny adds a field of a random kind, possibly a duplicate.
func appendAny(t *rapid.T, body []byte, of protoreflect.MessageDescriptor) []byte {
	f := of.Fields().Get(rapid.IntRange(0, of.Fields().Len()-1).Draw(t, "field"))
	number := f.Number()
	n := rapid.Uint64().Draw(t, "number") | 1 // the library leaves out zeros
	switch f.Kind() {
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		n = uint64(rapid.Uint32Range(1, 1<<20).Draw(t, "small")) // no NaN, which does not equal itself
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

	wire := wireOf(f.Kind())
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

// plain converts a message of the library to maps, lists and texts; plainOf does so with a value.
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
