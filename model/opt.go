package model

import (
	"encoding/json"
	"fmt"
)

// Opt is a value that may be unknown. The management API leaves fields out while a broker has not computed them yet:
// absent means unknown, never zero. The zero Opt is unknown.
type Opt[T any] struct {
	value T
	known bool
}

// Some returns a known value.
func Some[T any](v T) Opt[T] { return Opt[T]{value: v, known: true} }

// Unknown returns a value that is not known.
func Unknown[T any]() Opt[T] { return Opt[T]{} }

func (o Opt[T]) Get() (T, bool) { return o.value, o.known }

func (o Opt[T]) Known() bool { return o.known }

// Or returns the value, or v when it is unknown.
func (o Opt[T]) Or(v T) T {
	if o.known {
		return o.value
	}
	return v
}

// IsZero makes encoding/json's omitzero leave unknown values out.
func (o Opt[T]) IsZero() bool { return !o.known }

// MarshalJSON writes the value, or null when it is unknown.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.known {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Opt[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*o = Opt[T]{}
		return nil
	}
	o.known = true
	return json.Unmarshal(text, &o.value)
}

// String shows the value, or "?" when it is unknown.
func (o Opt[T]) String() string {
	if !o.known {
		return "?"
	}
	return fmt.Sprint(o.value)
}
