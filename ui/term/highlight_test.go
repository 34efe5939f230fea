package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
)

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
	// What is dressed keeps its cells, its text and its look around the place.
	line := red.Render(`"id"`) + ": " + red.Render("120") + ","
	got := Highlight(line, `id": 1`, mark)
	assert.Equal(t, ansi.Strip(got), `"<id": 1>20,`, "the text")
	if want := red.open + "20" + red.end + ","; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}
