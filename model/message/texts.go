package message

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// WriteTexts writes a value as JSON with every text of it as TextJSON has it: names in AMQP may hold any bytes. Parts
// that write themselves stay as they write themselves.
func WriteTexts(v any) ([]byte, error) {
	out, err := throughTexts(reflect.ValueOf(v), func(s string) (string, error) { return TextJSON(s), nil })
	if err != nil {
		return nil, err
	}
	return json.Marshal(out.Interface())
}

// ReadTexts reads what WriteTexts wrote.
func ReadTexts(text []byte, v any) error {
	into := reflect.ValueOf(v).Elem()
	read := reflect.New(into.Type())
	if err := json.Unmarshal(text, read.Interface()); err != nil {
		return JSONError(err)
	}
	out, err := throughTexts(read.Elem(), ParseText)
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	into.Set(out)
	return nil
}

var (
	writesItself = reflect.TypeFor[json.Marshaler]()
	readsItself  = reflect.TypeFor[json.Unmarshaler]()
)

// throughTexts is a copy of a value with other texts.
func throughTexts(v reflect.Value, f func(string) (string, error)) (reflect.Value, error) {
	t := v.Type()
	if t.Implements(writesItself) || reflect.PointerTo(t).Implements(readsItself) {
		return v, nil
	}
	out := reflect.New(t).Elem()
	out.Set(v)
	var failed error
	part := func(v reflect.Value) reflect.Value {
		read, err := throughTexts(v, f)
		if err != nil {
			failed = err
			return v
		}
		return read
	}
	switch t.Kind() {
	case reflect.String:
		s, err := f(v.String())
		out.SetString(s)
		return out, err
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(t.Elem()))
			out.Elem().Set(part(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(part(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(t, v.Len()))
		}
		for key, value := range v.Seq2() {
			out.SetMapIndex(part(key), part(value))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			out.Field(i).Set(part(v.Field(i)))
		}
	}
	return out, failed
}
