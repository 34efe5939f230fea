package filter

import (
	_ "embed" // the names
	"math"
	"slices"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/expr-lang/expr/types"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Field is a name in expressions.
type Field struct {
	Name string // "routing_key"
	What string
	Type string // a key of fieldTypes
	// Absent says what is so where the value is unknown, so that no comparison with it is true; "": it is always known.
	Absent string
	Around bool // what is around the message tells
}

// Bound is a value that is known from one side only: it is this one or more, or with Most this one or less.
type Bound struct {
	Value any
	Most  bool
}

// of returns the value for what needs one value of the message alone.
func (f *Field) of(m *message.Message) any {
	if f.Around {
		return nil
	}
	return plainOf(f.value(m))
}

func plainOf(v any) any {
	if b, bound := v.(Bound); bound {
		return b.Value
	}
	return v
}

// fieldTypes have the type of a field, and that of the function that reads it: from the evaluation, by its index.
var fieldTypes = map[string]struct {
	of   types.Type
	read any
}{
	"text":             {types.String, new(func(any, int) string)},
	"number":           {types.Int, new(func(any, int) int)},
	"true or false":    {types.Bool, new(func(any, int) bool)},
	"names and values": {types.TypeOf(map[string]any{}), new(func(any, int) map[string]any)},
	"any":              {types.Any, new(func(any, int) any)},
	"time":             {types.TypeOf(time.Time{}), new(func(any, int) time.Time)},
	"finding": {
		types.Map{"level": types.String, "code": types.String, "message": types.String},
		new(func(any, int) map[string]any),
	},
}

//go:embed expression.toml
var expressionText string

// fields are the names in expressions, and builtins the functions.
var fields, builtins = func() ([]Field, []string) {
	var all struct {
		Field     []Field
		Functions []string
	}
	if _, err := toml.Decode(expressionText, &all); err != nil {
		panic(err)
	}
	return all.Field, all.Functions
}()

// value is the field of a message; a name without a case is that of a property.
func (f *Field) value(m *message.Message) any {
	switch f.Name {
	case "body":
		return string(m.Body)
	case "json":
		return parseJSON(m.Body)
	case "headers":
		headers, _ := plainValue(m.Headers, 0).(map[string]any)
		return headers
	case "exchange":
		return m.Exchange
	case "routing_key":
		return m.RoutingKey
	case "priority":
		return int(m.Properties.Priority)
	case "size":
		return max(m.BodyBytes, len(m.Body))

	case "deaths":
		return int(min(m.DeathCount(), math.MaxInt))
	case "reason":
		if len(m.Deaths) == 0 {
			return ""
		}
		return string(m.Deaths[0].Reason)
	case "failure":
		return failureOf(m).String()
	case "failure_kind":
		return failureOf(m).Kind
	case "failure_message":
		return failureOf(m).Message
	case "failed_at":
		return lastFailure(m, false, func(at time.Time) any { return at })
	case "failed_age":
		return lastFailure(m, true, func(at time.Time) any { return int(time.Since(at).Seconds()) })

	case "redelivered":
		return m.Redelivered
	case "age":
		published, ok := m.PublishedAt()
		if !ok {
			return nil
		}
		return time.Since(published).Seconds()
	case "position":
		return m.Position
	case "name":
		return textOr(m.Name())
	case "framework":
		name, _ := m.Framework()
		return textOr(string(name))
	}

	for _, p := range m.Properties.Fields() {
		if p.Name == f.Name {
			return *p.Text
		}
	}

	return ""
}

func textOr(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// lastFailure returns a value of the time at which a message failed last; a bound of it where it failed once more.
func lastFailure(m *message.Message, most bool, of func(time.Time) any) any {
	at, exact, known := m.LastFailure()
	switch {
	case !known:
		return nil
	case exact:
		return of(at)
	}

	return Bound{of(at), most}
}

func failureOf(m *message.Message) message.Failure {
	failure, _ := m.Failure()
	return failure
}

func Fields() []Field { return fields }

func fieldNames() []string { return model.Mapped(fields, func(f *Field) string { return f.Name }) }

func Functions() []string { return slices.Clone(builtins) }
