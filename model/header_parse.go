package model

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseHeaders reads what headersJSON wrote, from JSON decoded with UseNumber. An empty table is nil.
func parseHeaders(fields map[string]any) (Table, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	return parseTable(fields)
}

func parseTable(fields map[string]any) (Table, error) {
	out := make(Table, len(fields))
	for name, field := range fields {
		key, err := parseText(name)
		if err != nil {
			return nil, err
		}
		if out[key], err = parseValue(field); err != nil {
			return nil, fmt.Errorf("header %s: %w", Printable(key), err)
		}
	}
	return out, nil
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
			return nil, fmt.Errorf("%s is no int64", v)
		}
		return n, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = parseValue(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if kind, typed := v["$type"].(string); typed {
			return parseTyped(kind, v["value"])
		}
		return parseTable(v)
	}
	return nil, fmt.Errorf("%T is no value of JSON", v)
}

// parseTyped reads {"$type": kind, "value": value}.
func parseTyped(kind string, value any) (any, error) {
	bad := func() (any, error) { return nil, fmt.Errorf("%v is no %s", value, Printable(kind)) }
	switch kind {
	case "table":
		if fields, ok := value.(map[string]any); ok {
			return parseTable(fields)
		}
		return bad()
	case "decimal":
		fields, _ := value.(map[string]any)
		scale, ok := parseInteger(fields["scale"], 0, math.MaxUint8)
		n, ok2 := parseInteger(fields["value"], math.MinInt32, math.MaxInt32)
		if !ok || !ok2 {
			return bad()
		}
		return Decimal{uint8(scale), int32(n)}, nil
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
		return nil, fmt.Errorf("%s is no type of AMQP", quoted(Printable(kind)))
	}
	n, ok := parseInteger(value, size.least, size.most)
	if !ok {
		return bad()
	}
	return size.of(n), nil
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
			return nil, fmt.Errorf("%s is no %s", quoted(Printable(text)), kind)
		}
		if bits == 32 {
			return math.Float32frombits(uint32(n)), nil
		}
		return math.Float64frombits(n), nil
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return nil, fmt.Errorf("%s is no %s", quoted(Printable(text)), kind)
	}
	if bits == 32 {
		return float32(f), nil
	}
	return f, nil
}

// parseText reads what textJSON wrote.
func parseText(s string) (string, error) {
	coded, odd := strings.CutPrefix(s, base64Prefix)
	if !odd {
		return s, nil
	}
	b, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return "", fmt.Errorf("%s is no base64", quoted(Printable(coded)))
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
	return time.Time{}, fmt.Errorf("%s is no time: it looks like 2026-05-06T07:08:09Z", quoted(Printable(s)))
}
