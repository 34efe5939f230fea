package mgmt

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// field is a value that may be absent, null, or of an unexpected kind (Erlang writes "undefined" and [] where others
// write null and {}). Decoding it never fails: an odd value is unknown.
type field[T any] struct {
	value T
	known bool
	odd   bool // it was present, but not a T
}

func (f *field[T]) UnmarshalJSON(b []byte) error {
	*f = field[T]{}
	if string(b) == "null" {
		return nil
	}
	var err error
	switch v := any(&f.value).(type) { // these are most of a list, and need no decoder
	case *string:
		*v, err = decodeText(b)
	case *int64:
		*v, err = strconv.ParseInt(string(b), 10, 64)
	case *float64:
		*v, err = strconv.ParseFloat(string(b), 64)
	case *bool:
		if *v = string(b) == "true"; !*v && string(b) != "false" {
			err = errors.New("neither true nor false")
		}
	case *model.Table:
		*v, err = decodeTable(b)
	default:
		err = json.Unmarshal(b, v)
	}

	if err != nil {
		*f = field[T]{odd: true}
		return nil
	}

	f.known = true
	return nil
}

// opt returns the value as an Opt.
func (f field[T]) opt() model.Opt[T] {
	if !f.known {
		return model.Unknown[T]()
	}
	return model.Some(f.value)
}

// decodeText decodes a string; without escapes it is mostly copied.
func decodeText(b []byte) (text string, err error) {
	if len(b) >= 2 && b[0] == '"' && bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
		return string(b[1 : len(b)-1]), nil
	}
	err = json.Unmarshal(b, &text)
	return text, err
}

// noEntries is the table of most bindings, and of many queues.
var noEntries = model.Table{}

// decodeTable decodes an object, and keeps integers exact. Erlang's empty list is an empty object. It reads its text
// once, however deep it is nested: RabbitMQ accepts arguments with 10,000 and more levels of tables.
func decodeTable(b []byte) (model.Table, error) {
	switch string(b) {
	case "{}", "[]":
		return noEntries, nil
	}

	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	return tableOf(object), nil
}

// decodeNumber keeps an integer exact if it fits, even when RabbitMQ writes it as 1.0; a number that no float64 can
// hold stays text.
func decodeNumber(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return whole(f)
}

// whole returns a whole number as an integer, if it fits.
func whole(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return f
}

// tableOf converts a decoded object to a table.
func tableOf(object map[string]any) model.Table {
	table := make(model.Table, len(object))
	for key, v := range object {
		table[key] = tableValue(v)
	}
	return table
}

func tableValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return tableOf(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = tableValue(v[i])
		}
		return list
	case json.Number:
		return decodeNumber(v.String())
	case float64: // in what rabbit-hole decoded
		return whole(v)
	}

	return v
}
