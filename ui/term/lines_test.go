package term

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Two emoji that a terminal may draw as one count as two: the line must be broken before them.
func TestWrapCountsCellsByRunes(t *testing.T) {
	for _, text := range []string{" a世世👍🏽a", "👍🏽👍🏽👍🏽👍🏽", "aa bbbbb 👍🏽👍🏽a c"} {
		for width := 4; width < 20; width++ {
			for _, line := range Wrap(text, width) {
				if n := ansi.StringWidthWc(line); n > width {
					t.Errorf("%q in %d cells has a line of %d: %q", text, width, n, line)
				}
			}
		}
	}
}
