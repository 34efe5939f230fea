package message

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
)

// An expiration of a message is a duration that can be added to a time, or none.
func FuzzParseExpiration(f *testing.F) {
	for _, s := range []string{
		"0", "5000", "-1", "1e3", " 5", "99999999999999999999", "315360000000", "315360000001",
		"+5", "-0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := ParseExpiration(s)
		assert.That(t, !ok || d >= 0 && !build.Noon.Add(d).Before(build.Noon.Add(-time.Nanosecond)), "%q is %v", s, d)
	})
}
