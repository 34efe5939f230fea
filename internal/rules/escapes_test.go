package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// speaksToTerminals are the files that may have an escape character, and what for. All looks come from lipgloss, in
// ui/term.
var speaksToTerminals = map[string]string{
	"ui/background.go":      "reads the terminal's answer about its background",
	"cli/ask.go":            "clears the line of a command's progress",
	"model/cause/fold.go":   "leaves the colours out of an error's text",
	"model/serial/value.go": "takes a text with colours for a text",
}

// TestOnlyTermMakesEscapes: styles are lipgloss's, held by ui/term, and no other file writes an escape sequence.
func TestOnlyTermMakesEscapes(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range spokenFiles(t) {
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || !escapes(l) {
				return true
			}
			if seen[path] = true; speaksToTerminals[path] == "" {
				t.Errorf("%s has the escape character %s: looks are made in ui/term, by lipgloss", path, l.Value)
			}
			return true
		})
	}
	for path := range speaksToTerminals {
		assert.That(t, seen[path], "%s has no escape character any more: take it off the list", path)
	}
}

// escapes reports whether a literal has, or is, an escape character.
func escapes(l *ast.BasicLit) bool {
	switch l.Kind {
	case token.STRING:
		text, err := strconv.Unquote(l.Value)
		return err == nil && strings.ContainsAny(text, "\x1b\u009b")
	case token.CHAR:
		r, _, _, err := strconv.UnquoteChar(strings.Trim(l.Value, "'"), '\'')
		return err == nil && (r == '\x1b' || r == '\u009b')
	case token.INT:
		return strings.EqualFold(l.Value, "0x1b") || l.Value == "033"
	}
	return false
}
