package mend

import (
	"bytes"
	"encoding/json"
	"math/big"

	"github.com/itchyny/gojq"
)

// decoded is a value as a program gets it, by way of its JSON. Numbers stay as they are written.
func decoded(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // all of it is JSON's own types
	}
	value, _ := parsed(text)
	return value
}

func parsed(text []byte) (any, bool) {
	if !json.Valid(text) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	return v, decoder.Decode(&v) == nil
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

// same reports whether two values are the same for a program: 1 and 1.0 are.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, there := b[name]; !there || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	}
	if !isNumber(a) || !isNumber(b) {
		return false
	}
	if x, ok := a.(json.Number); ok {
		if y, ok := b.(json.Number); ok && x == y {
			return true
		}
	}
	return gojq.Compare(a, b) == 0
}
