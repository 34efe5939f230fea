package mgmt

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"dlxtop/model"
)

// field is a value that may be absent, null, or of another kind than expected (Erlang writes "undefined" and [] where others
// write null and {}). Decoding it never fails: an odd value is an unknown one.
type field[T any] struct {
	value T
	known bool
	odd   bool // it was there, and was not a T
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *field[T]) UnmarshalJSON(b []byte) error {
	*f = field[T]{}
	if string(b) == "null" {
		return nil
	}
	var err error
	switch v := any(&f.value).(type) { // numbers and flags are most of a list: they need no decoder
	case *int64:
		*v, err = strconv.ParseInt(string(b), 10, 64)
	case *float64:
		*v, err = strconv.ParseFloat(string(b), 64)
	case *bool:
		*v, err = string(b) == "true", notBool(b)
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

// opt is the value as the model has it.
func (f field[T]) opt() model.Opt[T] {
	if !f.known {
		return model.Unknown[T]()
	}
	return model.Some(f.value)
}

type notABool struct{}

func (notABool) Error() string { return "neither true nor false" }

func notBool(b []byte) error {
	if s := string(b); s == "true" || s == "false" {
		return nil
	}
	return notABool{}
}

// decodeTable reads an object whose whole numbers stay whole. Erlang's empty list is an empty object.
func decodeTable(b []byte) (model.Table, error) {
	switch string(b) {
	case "{}", "[]":
		return model.Table{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	return tableOf(object), nil
}

// tableOf turns decoded JSON into a table: objects become tables, whole numbers int64.
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
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String() // beyond a float64: only its text is exact
		}
		return f
	case float64: // of a decoder without UseNumber: 30000 came as 3e4
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
		return v
	}
	return v
}
