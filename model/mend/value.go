package mend

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"github.com/itchyny/gojq"

	"github.com/dlxtop/dlxtop/model/message"
)

// decoded converts a value to a program's input, through JSON. Numbers stay as written.
func decoded(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // it has only JSON's own types
	}
	value, _ := parsed(text)
	return value
}

func parsed(text []byte) (any, bool) {
	var v any
	ok := json.Valid(text) && message.Decode(text, &v) == nil
	return v, ok
}

func encoded(v any) []byte {
	text, _ := gojq.Marshal(v) // it never fails
	return text
}

func isNumber(v any) bool {
	switch v.(type) {
	case int, float64, *big.Int, json.Number:
		return true
	}

	return false
}

// same reports whether a program sees two values as equal: 1 and 1.0 are.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case string, bool, nil:
		return a == b
	}

	if !isNumber(a) || !isNumber(b) {
		return false
	}
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	return ok1 && ok2 && x == y || gojq.Compare(a, b) == 0
}
