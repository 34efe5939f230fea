package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// The example has every key, and none that there is not.
func TestExampleHasEveryKey(t *testing.T) {
	var file contents
	meta, err := toml.Decode(Example, &file)
	must.That(t, err == nil && len(meta.Undecoded()) == 0,
		"the example has %v that there is not: %v", meta.Undecoded(), err)
	has := func(table ...string) {
		of := reflect.TypeFor[contents]()
		if len(table) > 0 {
			of = reflect.TypeFor[brokerContext]()
		}
		for i := range of.NumField() {
			key := append(table, of.Field(i).Tag.Get("toml"))
			assert.That(t, meta.IsDefined(key...), "the example does not have %s", strings.Join(key, "."))
		}
	}
	has()
	has("contexts", "shop")
}
