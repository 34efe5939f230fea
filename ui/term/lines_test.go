package term

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
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
	type wrap struct {
		Text  string
		Width int
		Want  []string
	}

	for _, tc := range must.Cases[wrap](t, "testdata/wraps.toml") {
		assert.List(t, Wrap(tc.Text, tc.Width), tc.Want, "%q in %d cells", tc.Text, tc.Width)
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
	dressed := strings.NewReplacer("<", Chosen.open(), ">", styleEnd).Replace
	for _, test := range []struct{ line, text, want string }{
		{"an order", "order", "an <order>"},
		{"Order, ORDER", "order", "<Order>, <ORDER>"},
		{"aaa", "aa", "<aa>a"},
		{"注文 42 は失敗", "42 は", "注文 <42 は>失敗"},
		{"an order", "", "an order"},
		{"", "x", ""},
		{"short", "longer than it", "short"},
	} {
		assert.Equal(t, Highlight(test.line, test.text, Chosen), dressed(test.want), "%q in %q", test.text, test.line)
		assert.Equal(t, Holds(test.line, test.text), test.want != test.line, "%q in %q", test.text, test.line)
	}

	// A styled line keeps its cells, its text and its styles around the match.
	line := Danger.Render(`"id"`) + ": " + Danger.Render("120") + ","
	got := Highlight(line, `id": 1`, Chosen)
	assert.Equal(t, ansi.Strip(got), `"id": 120,`, "the text")
	assert.Contains(t, got, Chosen.Render(`id": 1`))
	if want := Danger.Render("20") + ","; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}

func TestASCII(t *testing.T) {
	for text, want := range map[string]string{
		"╭ failed ╮│…": "+ failed +|~",
		"▁▃▅█ ▸ ✗":     "_.-# > x",
		"日本 é e\u0301": "???? ? e",
	} {
		dressed := Danger.Render(text)
		assert.Equal(t, ansi.Strip(ASCII(dressed)), want, "%q", text)
		a := ansi.StringWidthWc(ASCII(dressed))
		b := ansi.StringWidthWc(dressed)
		assert.That(t, a == b, "%q was %d cells wide and is %d", text, b, a)
	}
}

func TestUTF8(t *testing.T) {
	for locale, want := range map[string]bool{
		"": true, "C": false, "POSIX": false, "C.UTF-8": true, "de_DE.utf8": true, "de_DE.UTF-8@euro": true,
		"de_DE.ISO-8859-1": false, "ja_JP.eucJP": false, "en_US": true,
	} {
		env := map[string]string{"LANG": locale}
		assert.Equal(t, UTF8(func(name string) string { return env[name] }), want, "LANG=%s: UTF-8", locale)
	}

	env := map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}
	assert.That(t, !UTF8(func(name string) string { return env[name] }), "LC_ALL goes before LANG")
}

// Everything that the screens draw has a stand-in without UTF-8, and was looked up in the usual coding fonts.
func TestGlyphsHaveStandIns(t *testing.T) {
	for _, dir := range []string{"..", "../../model"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.Name() == "paint" {
				return filepath.SkipDir // it draws what any program has written
			}
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING && literal.Kind != token.CHAR {
					return true
				}
				text := literal.Value
				if literal.Kind == token.STRING {
					text, _ = strconv.Unquote(literal.Value)
				}

				for _, r := range text {
					assert.That(t, r < 0x80 || glyphs[r] != 0 || !strconv.IsPrint(r) ||
						strings.Contains(strings.ToLower(literal.Value), `\u`),
						"%s: %q is not in glyphs", files.Position(literal.Pos()), r)
				}

				return true
			})

			return nil
		})

		must.Do(t, err)
	}
}
