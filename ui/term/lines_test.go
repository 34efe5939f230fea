package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// Two emoji that a terminal may draw as one count as two: the line must be broken before them.
func TestWrapCountsCellsByRunes(t *testing.T) {
	for _, text := range []string{" a世世👍🏽a", "👍🏽👍🏽👍🏽👍🏽", "aa bbbbb 👍🏽👍🏽a c"} {
		for width := 4; width < 20; width++ {
			for _, line := range Wrap(text, width) {
				n := ansi.StringWidthWc(line)
				assert.That(t, n <= width, "%q in %d cells has a line of %d: %q", text, width, n, line)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, nil},
		{"one two", 10, []string{"one two"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"did not answer in 5 s", 19, []string{"did not answer in", "5 s"}},
		{"waits 250 ms, then", 10, []string{"waits", "250 ms,", "then"}},
		{"a dead-letter exchange", 8, []string{"a", "dead-", "letter", "exchange"}},
		{"no dead-letter exchange", 12, []string{"no", "dead-letter", "exchange"}},
		{"2b1da8b2-1bdd-4464-a650-1afc56dfdaba", 30, []string{"2b1da8b2-1bdd-4464-a650-", "1afc56dfdaba"}},
		{"aaaaaaaaaaaa", 5, []string{"aaaaa", "aaaaa", "aa"}},
		{"name  value", 20, []string{"name  value"}},
		{"name  value", 8, []string{"name", "value"}},
		{"  indented text", 12, []string{"  indented", "text"}},
		{"日本", 1, []string{"日", "本"}},
		{"日本日本 語", 5, []string{"日本", "日本", "語"}},
	} {
		assert.List(t, Wrap(tc.text, tc.width), tc.want, "%q in %d cells", tc.text, tc.width)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct{ left, right, want string }{
		{"find a", "complete", "find a    complete"},
		{"find a   12 found", "complete", "find a  … complete"},
		{"find", "", "find              "},
		{"find", "a very long right end", "a very long right…"},
	} {
		assert.Equal(t, Spread(c.left, c.right, 18), c.want, "%q and %q", c.left, c.right)
	}
}

func TestHighlight(t *testing.T) {
	mark, red := Style{"<", ">"}, Style{"\x1b[31m", "\x1b[0m"}
	for _, test := range []struct{ line, text, want string }{
		{"an order", "order", "an <order>"},
		{"Order, ORDER", "order", "<Order>, <ORDER>"},
		{"aaa", "aa", "<aa>a"},
		{"注文 42 は失敗", "42 は", "注文 <42 は>失敗"},
		{"an order", "", "an order"},
		{"", "x", ""},
		{"short", "longer than it", "short"},
	} {
		assert.Equal(t, Highlight(test.line, test.text, mark), test.want, "%q in %q", test.text, test.line)
		assert.Equal(t, Holds(test.line, test.text), test.want != test.line, "%q in %q", test.text, test.line)
	}
	// A styled line keeps its cells, its text and its styles around the match.
	line := red.Render(`"id"`) + ": " + red.Render("120") + ","
	got := Highlight(line, `id": 1`, mark)
	assert.Equal(t, ansi.Strip(got), `"<id": 1>20,`, "the text")
	if want := red.open + "20" + red.end + ","; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}
