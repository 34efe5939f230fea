package message

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
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
		if _, twice := out[key]; twice { // once as plain text and once in base64
			return nil, &HeaderError{key, errTwice}
		}
		if out[key], err = parseValue(field); err != nil {
			return nil, &HeaderError{key, err}
		}
	}

	return out, nil
}

var errTwice = errors.New("it is there twice")

type HeaderError struct {
	Name string
	err  error
}

// Error names only the outermost header: tables may be nested thousands deep.
func (e *HeaderError) Error() string {
	err := e.err
	for inner, nested := err.(*HeaderError); nested; inner, nested = err.(*HeaderError) {
		err = inner.err
	}
	return fmt.Sprintf("header %s: %s", Excerpt(e.Name), err)
}

type PropertyError struct {
	Name string // as JSON has it
	err  error
}

func (e *PropertyError) Error() string { return e.Name + ": " + e.err.Error() }

func (e *PropertyError) Unwrap() error { return e.err }

// Excerpt returns the beginning of a foreign text, for an error.
func Excerpt(text string) string {
	const longest = 80 // bytes
	short := WholeRunes(text, longest)
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
			return parseTyped("float64", v)
		}
		n, ok := Integer("int64", v)
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

func parseTyped(kind string, value any) (v any, err error) {
	ok := false
	text, isText := value.(string)
	fields, isObject := value.(map[string]any)

	switch kind {
	case "table":
		if isObject {
			return parseTable(fields)
		}
	case "repeated":
		if values, isList := value.([]any); isList {
			list, err := parseList(values)
			return model.Repeated(list), err
		}
	case "raw":
		v, ok = parseRaw(fields)
	case "decimal":
		scale, ok1 := Integer("uint8", fields["scale"])

		n, ok2 := Integer("int32", fields["value"])
		if ok = ok1 && ok2; ok {
			v = model.Decimal{Scale: scale.(uint8), Value: n.(int32)}
		}
	case "float64", "float32":
		v, ok = parseFloat(fmt.Sprint(value), kind == "float32")
	case "string", "bytes":
		b, err := base64.StdEncoding.DecodeString(text)
		if v, ok = b, isText && err == nil; kind == "string" {
			v = string(b)
		}
	case "timestamp":
		if isText {
			return parseTime(text)
		}
	default:
		if integerKinds[kind] == nil {
			return nil, fmt.Errorf("%s is not an AMQP type", Excerpt(kind))
		}
		v, ok = Integer(kind, value)
	}

	if !ok {
		return nil, fmt.Errorf("%s is not a value of type %s", Excerpt(fmt.Sprint(value)), kind)
	}

	return v, nil
}

func parseRaw(fields map[string]any) (model.RawValue, bool) {
	letter, ok := fields["letter"].(string)
	code, ok2 := fields["bytes"].(string)
	bytes, err := base64.StdEncoding.DecodeString(code)
	letters := []rune(letter)
	if !ok || !ok2 || err != nil || len(letters) != 1 || letters[0] > math.MaxUint8 {
		return model.RawValue{}, false
	}

	return model.RawValue{Type: byte(letters[0]), Bytes: bytes}, true
}

var integerKinds = map[string]reflect.Type{
	"int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](),
	"int64": reflect.TypeFor[int64](), "uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](),
	"uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
}

// Integer converts a json.Number to a Go integer type; false when it is not an integer or does not fit.
func Integer(kind string, number any) (v any, ok bool) {
	text, ok := number.(json.Number)
	if !ok || integerKinds[kind] == nil {
		return nil, false
	}
	into := reflect.New(integerKinds[kind])
	err := json.Unmarshal([]byte(text), into.Interface())
	return into.Elem().Interface(), err == nil
}

func parseFloat(text string, short bool) (v any, ok bool) {
	size := 64
	if short {
		size = 32
	}

	if pattern, odd := strings.CutPrefix(text, nanPrefix); odd {
		bits, err := strconv.ParseUint(pattern, 16, size)
		if short {
			return math.Float32frombits(uint32(bits)), err == nil
		}
		return math.Float64frombits(bits), err == nil
	}

	f, err := strconv.ParseFloat(text, size)
	if short {
		return float32(f), err == nil
	}

	return f, err == nil
}

// Text is a text in JSON. Make one with TextOf; decoding JSON restores the original. It has no MarshalText, which would
// cost six allocations for each entry of the journal.
type Text string

// TextOf encodes a text with TextJSON.
func TextOf(s string) Text { return Text(TextJSON(s)) }

// UnmarshalText decodes with ParseText.
func (t *Text) UnmarshalText(text []byte) error {
	read, err := ParseText(string(text))
	*t = Text(read)
	return err
}

// valueError is what is wrong with a value in JSON, in one sentence.
type valueError string

func (e valueError) Error() string { return string(e) }

// ParseText reads what TextJSON wrote.
func ParseText(s string) (string, error) {
	coded, odd := strings.CutPrefix(s, base64Prefix)
	if !odd {
		return s, nil
	}
	b, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return "", valueError(Excerpt(coded) + " is not base64")
	}

	return string(b), nil
}

// parseTime reads the output of JSONTime, and any other time in RFC 3339, as the AMQP client returns it: in local time.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if seconds, odd := strings.CutPrefix(s, "@"); odd {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			return time.Unix(n, 0), nil
		}
	} else if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.Local(), nil
	}

	return time.Time{}, fmt.Errorf("%s is not a time: write it like 2026-05-06T07:08:09Z", Excerpt(s))
}
