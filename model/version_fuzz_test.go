package model_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// A version that is known is written as it is read.
func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{
		"3.10.8", "4.0.5", "4.1.0-rc.1", "3.13", "4.3.6+2.g1", "", "4", "-1.2",
		"99999999999999999999.1.1", "4.0.99999999999999999999", "4.0.-1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := model.ParseVersion(s)
		assert.That(t, v.Major >= 0 && v.Minor >= 0 && v.Patch >= 0 && (!v.Known() || model.ParseVersion(v.String()) == v),
			"%q is %+v", s, v)
		model.BehaviourOf(v)
	})
}
