package shell

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// TestOddHeadersAreShown: each value of a name that is there twice, and the bytes of what cannot be read, within
// bounds.
func TestOddHeadersAreShown(t *testing.T) {
	m := model.Table{
		"large": uint64(1<<64 - 1), "twice": model.Repeated{"a", model.Table{"in": int32(1)}},
		"broken": model.RawValue{Type: 'F', Bytes: []byte{0, 0x1b, 0xff}},
		"long":   model.RawValue{Type: '?', Bytes: make([]byte, 100_000)}, "list": []any{model.Repeated{"b", "c"}},
		"wide": []any{"a", strings.Repeat("b", 2*valueLimit)}, // what closes the list has no room
	}
	var got []string
	for _, line := range TreeLines(m) {
		assert.That(t, len(line.Value) <= valueLimit+10, "%s has %d characters", line.Name, len(line.Value))
		got = append(got, line.Name+" "+line.Value[:min(len(line.Value), 40)])
	}
	want := []string{
		"broken unreadable, 0x46001bff", "large 18446744073709551615", "list [2 values [b, c]]",
		"long unreadable, 0x3f" + strings.Repeat("0", 24), "twice a", "twice ", "  in 1",
		"wide [a, " + strings.Repeat("b", 36),
	}
	assert.List(t, got, want)
	if line := tableLines(model.Table{"twice": m["twice"]}); line[0].Value != "2 values [a, {in: 1}]" {
		t.Errorf("%q", line)
	}
}
