package mend

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// object is a message as a program sees it: exchange, routing_key, properties, headers, body.
type object struct {
	message    *message.Publishing
	properties map[string]any
	headers    map[string]any
	body       body
}

// The fields of a message.
const (
	exchangeField   = "exchange"
	routingKeyField = "routing_key"
	propertiesField = "properties"
	headersField    = "headers"
	bodyField       = "body"
)

var fieldNames = []string{exchangeField, routingKeyField, propertiesField, headersField, bodyField}

func objectOf(m *message.Publishing) *object {
	o := &object{message: m, headers: plainTable(m.Headers), body: bodyOf(m.Body)}
	o.properties, _ = decoded(m.Properties.AsJSON()).(map[string]any)
	return o
}

// value returns the program's input.
func (o *object) value() map[string]any {
	return map[string]any{
		exchangeField: message.TextJSON(o.message.Exchange), routingKeyField: message.TextJSON(o.message.RoutingKey),
		propertiesField: o.properties, headersField: o.headers, bodyField: o.body.value,
	}
}

// made returns the message that the program returned.
func (o *object) made(result any) (made message.Publishing, changed bool, err error) {
	m := o.message
	fields, isObject := result.(map[string]any)
	if !isObject {
		return *m, false, &Problem{Kind: NoObject, Detail: kindOf(result)}
	}
	names := slices.Sorted(maps.Keys(fields))
	if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(fieldNames, name) }) {
		return *m, false, &Problem{Kind: NoObject, Detail: "another object"} // for example the program .body
	}
	for _, name := range names {
		if !slices.Contains(fieldNames, name) {
			return *m, false, &Problem{Kind: UnknownField, Field: name}
		}
	}

	for _, name := range fieldNames {
		if _, there := fields[name]; !there {
			return *m, false, &Problem{Kind: NoField, Field: name}
		}
	}

	if same(o.value(), fields) {
		return *m, false, nil
	}
	made = *m
	text := func(name string, was string) (is string) {
		if err == nil {
			is, err = textOf(name, fields[name], was)
		}
		return is
	}

	made.Exchange, made.RoutingKey = text(exchangeField, m.Exchange), text(routingKeyField, m.RoutingKey)

	if err == nil {
		made.Properties, err = o.madeProperties(fields[propertiesField])
	}
	if err == nil {
		made.Headers, err = o.madeHeaders(fields[headersField])
	}
	if err == nil {
		made.Body, err = o.body.made(fields[bodyField])
	}
	if err != nil {
		return *m, false, err
	}

	return made, true, nil
}

func textOf(name string, value any, was string) (string, error) {
	text, ok := value.(string)
	if !ok {
		return "", &Problem{Kind: BadField, Field: name, Detail: "is " + kindOf(value) + ": it has to be a text"}
	}
	if text == message.TextJSON(was) {
		return was, nil
	}
	read, err := message.ParseText(text)
	if err != nil {
		return "", &Problem{Kind: BadField, Field: name, Detail: detail(err.Error())}
	}

	return read, nil
}

var propertyNames = func() []string {
	names := []string{"empty_headers"}
	for _, f := range new(message.Properties).Fields() {
		names = append(names, f.Name)
	}
	return names
}()

func (o *object) madeProperties(value any) (message.Properties, error) {
	was := o.message.Properties
	if same(o.properties, value) {
		return was, nil
	}
	fields, isObject := value.(map[string]any)
	if !isObject {
		return was, &Problem{Kind: BadField, Field: propertiesField, Detail: "is " + kindOf(value) + ", not an object"}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(propertyNames, name) {
			return was, &Problem{Kind: UnknownField, Field: propertiesField + "." + name}
		}
	}

	var in message.PropertiesJSON
	is := was
	err := json.Unmarshal(encoded(value), &in)
	if err != nil {
		err = message.JSONError(err)
	} else {
		is, err = in.Properties()
	}

	if err != nil {
		return was, &Problem{Kind: BadField, Field: propertiesField, Detail: "cannot be read: " + detail(err.Error())}
	}
	if is.Timestamp.Equal(was.Timestamp) {
		is.Timestamp = was.Timestamp
	}

	return is, nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}

	if isNumber(value) {
		return "a number"
	}

	return fmt.Sprintf("a %T", value)
}
