package message

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// ParseHeaders reads what HeadersJSON wrote, from JSON decoded with UseNumber. An empty table is nil.
func ParseHeaders(fields map[string]any) (model.Table, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	return parseTable(fields)
}

func parseTable(fields map[string]any) (model.Table, error) {
	out := make(model.Table, len(fields))
	for name, field := range fields {
		key, err := ParseText(name)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice { // once as it is and once in base64
			return nil, &HeaderError{key, errTwice}
		}
		if out[key], err = parseValue(field); err != nil {
			return nil, &HeaderError{key, err}
		}
	}
	return out, nil
}

var errTwice = errors.New("it is there twice")

// HeaderError is what is wrong with a header.
type HeaderError struct {
	Name string
	err  error
}

// Error names the outermost header only: tables may be nested thousands deep.
func (e *HeaderError) Error() string {
	err := e.err
	for inner, nested := err.(*HeaderError); nested; inner, nested = err.(*HeaderError) {
		err = inner.err
	}
	return fmt.Sprintf("header %s: %s", Excerpt(e.Name), err)
}

// PropertyError is what is wrong with a property.
type PropertyError struct {
	Name string // as JSON has it
	err  error
}

// Error names the property.
func (e *PropertyError) Error() string { return e.Name + ": " + e.err.Error() }

// Unwrap is what is wrong with it.
func (e *PropertyError) Unwrap() error { return e.err }

// Excerpt is the beginning of a text that somebody wrote, for an error.
func Excerpt(text string) string {
	const longest = 80 // bytes
	short := cut(text, longest)
	if short != text {
		short += "…"
	}
	return model.Quoted(model.Printable(short))
}

func parseValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return parseFloat("float64", v)
		}
		n, ok := parseInteger(v, math.MinInt64, math.MaxInt64)
		if !ok {
			return nil, fmt.Errorf("%s is not an int64", Excerpt(v.String()))
		}
		return n, nil
	case []any:
		return parseList(v)
	case map[string]any:
		if kind, typed := v["$type"].(string); typed {
			return parseTyped(kind, v["value"])
		}
		return parseTable(v)
	}
	return nil, fmt.Errorf("%T is not a JSON value", v)
}

func parseList(values []any) ([]any, error) {
	list := make([]any, len(values))
	for i := range values {
		var err error
		if list[i], err = parseValue(values[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// parseTyped reads {"$type": kind, "value": value}.
func parseTyped(kind string, value any) (any, error) {
	bad := func() (any, error) {
		return nil, fmt.Errorf("%s is not a value of type %s", Excerpt(fmt.Sprint(value)), kind)
	}
	switch kind {
	case "table":
		if fields, ok := value.(map[string]any); ok {
			return parseTable(fields)
		}
		return bad()
	case "repeated":
		if values, ok := value.([]any); ok {
			list, err := parseList(values)
			return model.Repeated(list), err
		}
		return bad()
	case "raw":
		if raw, ok := parseRaw(value); ok {
			return raw, nil
		}
		return bad()
	case "decimal":
		fields, _ := value.(map[string]any)
		scale, ok := parseInteger(fields["scale"], 0, math.MaxUint8)
		n, ok2 := parseInteger(fields["value"], math.MinInt32, math.MaxInt32)
		if !ok || !ok2 {
			return bad()
		}
		return model.Decimal{Scale: uint8(scale), Value: int32(n)}, nil
	case "float64", "float32":
		return parseFloat(kind, value)
	case "uint64":
		number, _ := value.(json.Number)
		n, err := strconv.ParseUint(number.String(), 10, 64)
		if err != nil {
			return bad()
		}
		return n, nil
	}
	switch text, ok := value.(string); kind {
	case "string", "bytes":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !ok {
			return bad()
		}
		if kind == "string" {
			return string(b), nil
		}
		return b, nil
	case "timestamp":
		if !ok {
			return bad()
		}
		return parseTime(text)
	}
	size, known := integerKinds[kind]
	if !known {
		return nil, fmt.Errorf("%s is not an AMQP type", Excerpt(kind))
	}
	n, ok := parseInteger(value, size.least, size.most)
	if !ok {
		return bad()
	}
	return size.of(n), nil
}

// parseRaw reads a rawJSON.
func parseRaw(value any) (model.RawValue, bool) {
	fields, _ := value.(map[string]any)
	letter, ok := fields["letter"].(string)
	code, ok2 := fields["bytes"].(string)
	bytes, err := base64.StdEncoding.DecodeString(code)
	letters := []rune(letter)
	if !ok || !ok2 || err != nil || len(letters) != 1 || letters[0] > math.MaxUint8 {
		return model.RawValue{}, false
	}
	return model.RawValue{Type: byte(letters[0]), Bytes: bytes}, true
}

// integerKinds are the integers of AMQP that JSON has no number for, with their bounds.
var integerKinds = map[string]struct {
	least, most int64
	of          func(int64) any
}{
	"int8":   {math.MinInt8, math.MaxInt8, func(n int64) any { return int8(n) }},
	"uint8":  {0, math.MaxUint8, func(n int64) any { return uint8(n) }},
	"int16":  {math.MinInt16, math.MaxInt16, func(n int64) any { return int16(n) }},
	"uint16": {0, math.MaxUint16, func(n int64) any { return uint16(n) }},
	"int32":  {math.MinInt32, math.MaxInt32, func(n int64) any { return int32(n) }},
	"uint32": {0, math.MaxUint32, func(n int64) any { return uint32(n) }},
	"int64":  {math.MinInt64, math.MaxInt64, func(n int64) any { return n }},
}

func parseInteger(v any, least, most int64) (int64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	return n, err == nil && n >= least && n <= most
}

func parseFloat(kind string, value any) (any, error) {
	bits := 64
	if kind == "float32" {
		bits = 32
	}
	text := fmt.Sprint(value)
	if pattern, odd := strings.CutPrefix(text, nanPrefix); odd {
		n, err := strconv.ParseUint(pattern, 16, bits)
		if err != nil {
			return nil, fmt.Errorf("%s is not a value of type %s", Excerpt(text), kind)
		}
		if bits == 32 {
			return math.Float32frombits(uint32(n)), nil
		}
		return math.Float64frombits(n), nil
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return nil, fmt.Errorf("%s is not a value of type %s", Excerpt(text), kind)
	}
	if bits == 32 {
		return float32(f), nil
	}
	return f, nil
}

// ParseText reads what TextJSON wrote.
func ParseText(s string) (string, error) {
	coded, odd := strings.CutPrefix(s, base64Prefix)
	if !odd {
		return s, nil
	}
	b, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return "", fmt.Errorf("%s is not base64", Excerpt(coded))
	}
	return string(b), nil
}

// parseTime reads what JSONTime wrote, and every other time in RFC 3339.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if seconds, odd := strings.CutPrefix(s, "@"); odd {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			return time.Unix(n, 0), nil
		}
	} else if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%s is not a time: write it like 2026-05-06T07:08:09Z", Excerpt(s))
}
