package ui

import (
	"reflect"
	"slices"
	"testing"

	"github.com/charmbracelet/bubbles/key"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// Every binding of the program is explained somewhere: who adds a key says what it does.
func TestKeyHelpHasEveryKey(t *testing.T) {
	var explained []string
	for _, g := range KeyHelp() {
		assert.That(t, g.Place != "" && len(g.Keys) > 0, "%+v is empty", g)
		for _, k := range g.Keys {
			assert.That(t, len(k.Names) > 0 && k.Does != "", "%s: %+v is empty", g.Place, k)
			explained = append(explained, k.Names...)
		}
	}
	var visit func(name string, v reflect.Value)
	visit = func(name string, v reflect.Value) {
		if b, ok := v.Interface().(key.Binding); ok {
			for _, pressed := range b.Keys() {
				if !slices.Contains(explained, keyName(pressed)) {
					t.Errorf("%s (%s) is not in KeyHelp", name, keyName(pressed))
				}
			}
			return
		}
		for i := range v.NumField() {
			visit(v.Type().Field(i).Name, v.Field(i))
		}
	}
	keys := reflect.ValueOf(*shell.NewKeyMap())
	for i := range keys.NumField() {
		field := keys.Field(i)
		if field.Kind() == reflect.Array {
			for j := range field.Len() {
				visit(keys.Type().Field(i).Name, field.Index(j))
			}
			continue
		}
		visit(keys.Type().Field(i).Name, field)
	}
}
