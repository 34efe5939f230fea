package build

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// ThroughJSON is a value that was written as JSON and read again.
func ThroughJSON[T any](v T) (T, error) {
	var read T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	return read, err
}

var (
	jsonWriter = reflect.TypeFor[json.Marshaler]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textWriter = reflect.TypeFor[encoding.TextMarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// NotData are the parts of a type that JSON loses or cannot write: channels, functions, interfaces, what is not
// exported, and the topology. A type that says itself how it is written and read is data.
func NotData(t reflect.Type) []string { return notData(t, t.String(), map[reflect.Type]bool{}) }

func notData(t reflect.Type, path string, seen map[reflect.Type]bool) (found []string) {
	if seen[t] {
		return nil
	}
	seen[t] = true
	writes := t.Implements(jsonWriter) || reflect.PointerTo(t).Implements(jsonWriter)
	reads := reflect.PointerTo(t).Implements(jsonReader)
	if writes && reads || t.Implements(textWriter) && reflect.PointerTo(t).Implements(textReader) {
		return nil
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return []string{path + " is a " + t.Kind().String()}
	case reflect.Map:
		found = notData(t.Key(), path+"[key]", seen)
		return append(found, notData(t.Elem(), path+"[]", seen)...)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return notData(t.Elem(), path+"[]", seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get("json") == "-" {
				continue
			}
			if !f.IsExported() {
				found = append(found, fmt.Sprintf("%s.%s is not exported", path, f.Name))
				continue
			}
			found = append(found, notData(f.Type, path+"."+f.Name, seen)...)
		}
	}
	return found
}
