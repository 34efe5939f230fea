package mend

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// typeField marks a value that JSON cannot represent: {"$type": "decimal", "value": …}, as in message.HeadersJSON.
const typeField = "$type"

func typed(kind string, value any) map[string]any {
	return map[string]any{typeField: kind, "value": value}
}

// plainTable returns a table as a program sees it. Whatever the AMQP type, a number is a number, and readable bytes and
// times are texts. Values that JSON cannot represent are typed.
func plainTable(t model.Table) map[string]any {
	out := make(map[string]any, len(t))
	for name, v := range t {
		out[message.TextJSON(name)] = plain(v)
	}
	return out
}

func plain(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		if utf8.ValidString(v) {
			return v
		}
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
	case time.Time:
		if !v.IsZero() {
			return message.JSONTime(v)
		}
	case uint64:
		return new(big.Int).SetUint64(v)

	case float64:
		if finite(v) {
			return v
		}
	case float32:
		if finite(float64(v)) {
			return float64(v)
		}
	case model.Table:
		if _, odd := v[typeField]; !odd {
			return plainTable(v)
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}

		return list
	case model.Decimal, model.Repeated, model.RawValue:
	default:
		if n, whole := model.AsInteger(v); whole {
			return integer(n)
		}
	}

	return decoded(message.HeaderJSON(v))
}

// finite reports whether a float is a JSON number; JSON has no negative zero.
func finite(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && !(v == 0 && math.Signbit(v))
}

func integer(n int64) any {
	if int64(int(n)) == n {
		return int(n)
	}
	return big.NewInt(n)
}

// madeHeaders returns the headers that a program returned. Unchanged ones keep their AMQP type, and so do changed ones
// if the new value fits it.
func (o *object) madeHeaders(value any) (model.Table, error) {
	if same(o.headers, value) {
		return o.message.Headers, nil
	}
	fields, isObject := value.(map[string]any)
	if !isObject {
		return nil, &Problem{Kind: BadField, Field: headersField, Detail: "is " + kindOf(value) + ", not an object"}
	}
	made, err := madeTable(o.message.Headers, o.headers, fields)
	if len(made) == 0 {
		made = nil
	}

	return made, err
}

// madeTable returns a table that a program returned in place of another one; seen is how it saw that one.
func madeTable(was model.Table, seen, is map[string]any) (model.Table, error) {
	made := make(model.Table, len(is))
	for _, field := range slices.Sorted(maps.Keys(is)) {
		name, err := message.ParseText(field)
		if err != nil {
			return nil, &Problem{Kind: BadField, Field: headersField, Detail: detail(err.Error())}
		}
		before, there := was[name]
		if made[name], err = madeValue(before, seen[field], is[field], there); err != nil {
			inner, ok := errors.AsType[*Problem](err) // without the names of the surrounding tables
			if !ok {
				inner = &Problem{Detail: detail(err.Error())}
			}
			return nil, &Problem{Kind: BadField, Field: headersField + "." + field, Detail: inner.Detail}
		}
	}

	return made, nil
}

// madeValue returns a value that a program returned in place of another one, if there was one.
func madeValue(was, seen, is any, there bool) (any, error) {
	if there && same(seen, is) {
		return was, nil
	}
	switch is := is.(type) {
	case map[string]any:
		if _, odd := is[typeField].(string); odd {
			return readTyped(is)
		}
		table, _ := was.(model.Table)
		fields, _ := seen.(map[string]any)
		if _, odd := fields[typeField]; odd {
			table, fields = nil, nil
		}
		return madeTable(table, fields, is)
	case []any:
		return madeList(was, seen, is)
	case string:
		switch was.(type) {
		case []byte:
			return []byte(is), nil
		case time.Time:
			if t, err := time.Parse(time.RFC3339Nano, is); err == nil {
				return t.Local(), nil // as the AMQP client returns it
			}
		}

		return is, nil
	case nil, bool:
		return is, nil
	}

	return madeNumber(was, is)
}

func madeList(was, seen any, is []any) (any, error) {
	before, _ := was.([]any)
	fields, _ := seen.([]any)
	list := make([]any, len(is))
	for i := range is {
		var old, oldSeen any
		there := i < len(before) && i < len(fields)
		if there {
			old, oldSeen = before[i], fields[i]
		}
		var err error
		if list[i], err = madeValue(old, oldSeen, is[i], there); err != nil {
			return nil, err
		}
	}

	return list, nil
}

// madeNumber returns a number that a program returned, in the previous number's type if it fits, otherwise as an int64,
// or a float64 if it has a fraction.
func madeNumber(was, is any) (any, error) {
	f := floatOf(is)
	switch was.(type) {
	case float32:
		return float32(f), nil
	case float64:
		return f, nil
	}

	n, whole := wholeNumber(is)
	if !whole {
		return f, nil
	}
	if fits, ok := message.Integer(fmt.Sprintf("%T", was), json.Number(n.String())); ok {
		return fits, nil
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}

	return nil, &Problem{Kind: BadField, Detail: "is a number that fits no type of AMQP"}
}

func floatOf(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	case json.Number:
		f, _ := v.Float64() // if it is too large: infinity
		return f
	}

	return math.NaN()
}

func wholeNumber(v any) (*big.Int, bool) {
	switch n := v.(type) {
	case *big.Int:
		return n, true
	case int:
		return big.NewInt(int64(n)), true
	case json.Number:
		if read, ok := new(big.Int).SetString(n.String(), 10); ok {
			return read, true
		}
	}

	f := floatOf(v)
	if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return nil, false
	}

	return big.NewInt(int64(f)), true
}

func readTyped(value map[string]any) (any, error) {
	var fields map[string]any
	if err := message.Decode(encoded(map[string]any{"value": value}), &fields); err != nil {
		return nil, err
	}
	read, err := message.ParseHeaders(fields)
	return read["value"], err
}
