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
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

func TestASCII(t *testing.T) {
	styles := NewStyles(Dark, termenv.TrueColor)
	for text, want := range map[string]string{
		"╭ failed ╮│…": "+ failed +|~",
		"▁▃▅█ ▸ ✗":     "_.-# > x",
		"日本 é e\u0301": "???? ? e",
	} {
		dressed := styles.Danger.Render(text)
		assert.Equal(t, ansi.Strip(ASCII(dressed)), want, "%q", text)
		a, b := ansi.StringWidthWc(ASCII(dressed)), ansi.StringWidthWc(dressed)
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
						strings.Contains(literal.Value, `\u`),
						"%s: %q is not in glyphs", files.Position(literal.Pos()), r)
				}
				return true
			})
			return nil
		})
		must.Do(t, err)
	}
}
