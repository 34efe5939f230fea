package filter

import (
	"math"
	"slices"
	"time"

	"github.com/expr-lang/expr/types"

	"github.com/dlxtop/dlxtop/model/message"
)

// Field is a name in expressions.
type Field struct {
	Name  string // "routing_key"
	What  string
	Type  string // a key of fieldTypes
	value func(*message.Message) any
}

const (
	ofText   = "text"
	ofNumber = "number"
	ofTruth  = "true or false"
	ofTable  = "names and values"
	ofAny    = "any"
)

// fieldTypes have the type of a field, and that of the function that reads it: from the evaluation, by its index.
var fieldTypes = map[string]struct {
	of   types.Type
	read any
}{
	ofText:   {types.String, new(func(any, int) string)},
	ofNumber: {types.Int, new(func(any, int) int)},
	ofTruth:  {types.Bool, new(func(any, int) bool)},
	ofTable:  {types.TypeOf(map[string]any{}), new(func(any, int) map[string]any)},
	ofAny:    {types.Any, new(func(any, int) any)},
}

// fields are the names in expressions. docs/expressions.md is generated from them.
var fields = []Field{
	{"body", "the body as text; of a body that was not read whole, what was read", ofText, func(m *message.Message) any {
		return string(m.Body)
	}},
	{
		"json", "the body, parsed; nil when it is not JSON. `json.user.id` is a member, `json.items[0]` an element", ofAny,
		func(m *message.Message) any { return parseJSON(m.Body) },
	},
	{
		"headers", "the headers: `headers[\"x-tenant\"]`; nil for one that is not there", ofTable,
		func(m *message.Message) any {
			headers, _ := plainValue(m.Headers, 0).(map[string]any)
			return headers
		},
	},
	{"exchange", "the exchange that it was published to last", ofText, func(m *message.Message) any { return m.Exchange }},
	{"routing_key", "the routing key that it was published with last", ofText, func(m *message.Message) any {
		return m.RoutingKey
	}},
	property("message_id"),
	property("correlation_id"),
	property("content_type"),
	property("type"),
	property("app_id"),
	{"priority", "the property priority; 0 when there is none", ofNumber, func(m *message.Message) any {
		return int(m.Properties.Priority)
	}},
	{
		"expiration", "the property expiration, in ms, as text: `int(expiration) > 5000`", ofText,
		func(m *message.Message) any { return m.Properties.Expiration },
	},
	{"size", "bytes of the body", ofNumber, func(m *message.Message) any { return max(m.BodyBytes, len(m.Body)) }},
	{"deaths", "how often it was dead-lettered: all counts of x-death together", ofNumber, func(m *message.Message) any {
		return int(min(m.DeathCount(), math.MaxInt))
	}},
	{
		"reason", "of the newest death: `expired`, `rejected`, `maxlen` or `delivery_limit`", ofText,
		func(m *message.Message) any {
			if len(m.Deaths) == 0 {
				return ""
			}
			return string(m.Deaths[0].Reason)
		},
	},
	{
		"failure", "the failure as the list of messages shows it: kind and message", ofText,
		func(m *message.Message) any { return failureOf(m).String() },
	},
	{
		"failure_kind", "what kind of error it was: the class of the exception, mostly", ofText,
		func(m *message.Message) any { return failureOf(m).Kind },
	},
	{"failure_message", "what the error said", ofText, func(m *message.Message) any { return failureOf(m).Message }},
	{"redelivered", "whether it was delivered before", ofTruth, func(m *message.Message) any { return m.Redelivered }},
	{"age", "seconds since it was published; nil when that is unknown", ofAny, func(m *message.Message) any {
		published, ok := m.PublishedAt()
		if !ok {
			return nil
		}
		return time.Since(published).Seconds()
	}},
	{"position", "its place in the queue as it was read; the first is 1", ofNumber, func(m *message.Message) any {
		return m.Position
	}},
}

// property returns the field with the name of a property that is text.
func property(name string) Field {
	return Field{name, "the property " + name, ofText, func(m *message.Message) any {
		for _, p := range m.Properties.Fields() {
			if p.Name == name {
				return *p.Text
			}
		}
		return ""
	}}
}

func failureOf(m *message.Message) message.Failure {
	failure, _ := m.Failure()
	return failure
}

func Fields() []Field { return fields }

func fieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

func Functions() []string { return slices.Clone(builtins) }
