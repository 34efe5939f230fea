package model

import "time"

// Table is an AMQP field table: headers, queue arguments. The values have the Go types of AMQP's field types: nil,
// bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64, Decimal, string, []byte,
// time.Time, []any and Table, or are Repeated or a RawValue where the table is odd. A table that came through the
// management API has only JSON's types: nil, bool, int64, float64, string, []any and Table.
type Table map[string]any

// Decimal is AMQP's decimal: Value / 10^Scale.
type Decimal struct {
	Scale uint8
	Value int32
}

// Integer returns the value under key when it is a whole number of any integer type (or a float without a fraction,
// as JSON may carry it). A string that looks like a number is not a number: RabbitMQ refuses it too.
func (t Table) Integer(key string) (int64, bool) {
	return AsInteger(t[key])
}

// AsTable is a table of headers, as clients and as JSON give it.
func AsTable(v any) (Table, bool) {
	switch v := v.(type) {
	case Table:
		return v, true
	case map[string]any:
		return v, true
	}
	return nil, false
}

// AsInteger is Integer of a value by itself.
func AsInteger(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case uint8:
		return int64(v), true
	case int16:
		return int64(v), true
	case uint16:
		return int64(v), true
	case int32:
		return int64(v), true
	case uint32:
		return int64(v), true
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= 1<<63-1
	case float64:
		if i := int64(v); float64(i) == v {
			return i, true
		}
	case float32:
		if i := int64(v); float32(i) == v {
			return i, true
		}
	}
	return 0, false
}

// Text returns the value under key when it is a string or bytes.
func (t Table) Text(key string) (string, bool) {
	return AsText(t[key])
}

// AsText is Text of a value by itself.
func AsText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// Time returns the value under key when it is an AMQP timestamp.
func (t Table) Time(key string) (time.Time, bool) {
	v, ok := t[key].(time.Time)
	return v, ok
}
