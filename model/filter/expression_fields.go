package filter

import (
	"reflect"
	"slices"
)

// Field is a name that expressions know.
type Field struct {
	Name string // "routing_key"
	Type string // "text", "number", "true or false", "list of names and values", "any"
	What string
}

// fieldWhat says what the names of expressions mean. docs/expressions.md is written from it.
var fieldWhat = map[string]string{
	"body":            "the body as text; of a body that was not read whole, what was read",
	"json":            "the body, parsed; nil when it is not JSON. `json.user.id` is a member, `json.items[0]` an element",
	"headers":         "the headers: `headers[\"x-tenant\"]`; nil for one that is not there",
	"exchange":        "the exchange that it was published to last",
	"routing_key":     "the routing key that it was published with last",
	"message_id":      "the property message_id",
	"correlation_id":  "the property correlation_id",
	"content_type":    "the property content_type",
	"type":            "the property type",
	"app_id":          "the property app_id",
	"priority":        "the property priority; 0 when there is none",
	"expiration":      "the property expiration, in ms, as text: `int(expiration) > 5000`",
	"size":            "bytes of the body",
	"deaths":          "how often it was dead-lettered: all counts of x-death together",
	"reason":          "of the newest death: `expired`, `rejected`, `maxlen` or `delivery_limit`",
	"failure":         "the failure as the list of messages shows it: kind and message",
	"failure_kind":    "what kind of error it was: the class of the exception, mostly",
	"failure_message": "what the error said",
	"redelivered":     "whether it was delivered before",
	"age":             "seconds since it was published; nil when that is unknown",
	"position":        "its place in the queue as it was read; the first is 1",
}

// Fields are the names that expressions know, in the order of expressionEnv.
func Fields() []Field {
	var fields []Field
	t := reflect.TypeFor[expressionEnv]()
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("expr")
		what, explained := fieldWhat[name]
		if !explained { // what bounds expressions is in there, too
			continue
		}
		kinds := map[reflect.Kind]string{
			reflect.String: "text", reflect.Int: "number", reflect.Bool: "true or false", reflect.Map: "names and values",
			reflect.Interface: "any",
		}
		fields = append(fields, Field{name, kinds[t.Field(i).Type.Kind()], what})
	}
	return fields
}

// Functions are the functions that expressions know.
func Functions() []string { return slices.Clone(builtins) }
