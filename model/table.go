package model

import (
	"math"
	"reflect"
	"time"
)

// Table is an AMQP field table: headers, queue arguments. Its values have the Go types of AMQP's field types: nil,
// bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64, Decimal, string, []byte, time.Time,
// []any and Table; or Repeated and RawValue where the table is odd. A table from the management API has only JSON's
// types: nil, bool, int64, float64, string, []any and Table.
type Table map[string]any

// Decimal is AMQP's decimal: Value / 10^Scale.
type Decimal struct {
	Scale uint8
	Value int32
}

// Integer returns the value of key when it is a whole number of any integer type (or a float without a fraction, as in
// JSON). A string that looks like a number is not a number: RabbitMQ refuses it too.
func (t Table) Integer(key string) (int64, bool) {
	return AsInteger(t[key])
}

// AsTable returns a table of headers, as clients and JSON represent it.
func AsTable(v any) (Table, bool) {
	switch v := v.(type) {
	case Table:
		return v, true
	case map[string]any:
		return v, true
	}

	return nil, false
}

// AsInteger is Integer for a single value.
func AsInteger(v any) (int64, bool) {
	n := reflect.ValueOf(v)
	switch {
	case n.CanInt():
		return n.Int(), true
	case n.CanUint():
		return int64(n.Uint()), n.Uint() <= math.MaxInt64
	case n.CanFloat():
		if i := int64(n.Float()); float64(i) == n.Float() {
			return i, true
		}
	}

	return 0, false
}

// Text returns the value of key when it is a string or bytes.
func (t Table) Text(key string) (string, bool) {
	return AsText(t[key])
}

// AsText is Text for a single value.
func AsText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}

	return "", false
}

// Time returns the value of key when it is an AMQP timestamp.
func (t Table) Time(key string) (time.Time, bool) {
	v, ok := t[key].(time.Time)
	return v, ok
}
