package journal

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Positions are read as written, and any other text soon gives an error.
func FuzzRanges(f *testing.F) {
	for _, text := range []string{
		"", "1", "1-500 502", "7 3-5 4", "1-9223372036854775807", "5-1",
		"9223372036854775806-9223372036854775807", "-1", "1--2", "a-b", "1-5 x",
	} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		var err error
		var positions []int
		limit.Check(t, len(text), func() {
			err = eachIn(text, func(p int) {
				if n++; n <= 1000 {
					positions = append(positions, p)
				}
			})
		})

		must.That(t, n <= mostPositions, "%d positions, %v", n, err)
		must.That(t, err == nil || !strings.ContainsAny(err.Error(), "\n\x1b"), "%d positions, %v", n, err)

		if err != nil || n > len(positions) {
			return
		}
		var again []int
		must.Do(t, eachIn(ranges(slices.Clone(positions)), func(p int) { again = append(again, p) }))
		slices.Sort(positions)
		want := slices.Compact(positions)
		assert.That(t, slices.Equal(again, want),
			"%q is %v, written as %q it is %v", text, want, ranges(positions), again)
	})
}
