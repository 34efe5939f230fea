package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// othersWords are the files that take apart the errors of libraries that have neither code nor type for them.
var othersWords = map[string]string{
	"broker/link/connect_errors.go": "crypto/tls",
	"mgmt/reasons.go":               "net/http",
	"cli/act.go":                    "the compiler of expressions",
	"model/draft/text.go":           "encoding/json",
}

var (
	// sentences are the methods and fields that hold what dlxtop says.
	sentences = []string{"Error", "Words", "Stopped", "Why"}
	// asking are the functions of package strings that decide by a text, or take it apart.
	asking = []string{
		"Contains", "HasPrefix", "HasSuffix", "TrimPrefix", "TrimSuffix", "CutPrefix", "CutSuffix", "Index", "Cut",
		"EqualFold", "Split", "Fields", "Count",
	}
)

// TestDecisionsAreMadeOnValues: no code decides by a sentence. What one part of dlxtop has to know of another is a kind
// with values.
func TestDecisionsAreMadeOnValues(t *testing.T) {
	used := map[string]bool{}
	for _, file := range goFiles {
		if file.isTest {
			continue
		}
		for _, at := range decisionsOnSentences(file.File) {
			used[file.path] = true
			assert.That(t, othersWords[file.path] != "",
				"%s decides by a sentence: let it have a kind", positions.Position(at))
		}
	}
	for path, whose := range othersWords {
		assert.That(t, used[path], "%s does not read the words of %s any more: take it out of othersWords", path, whose)
	}
}

func TestDecisionsOnSentencesAreFound(t *testing.T) {
	for body, found := range map[string]bool{
		`_ = strings.Contains(err.Error(), "gone")`:                 true,
		`words := r.Words(); _, _ = strings.CutPrefix(words, "a ")`: true,
		`_ = a.Stopped == "the queue is gone"`:                      true,
		`switch a.Why { case "gone": }`:                             true,
		`_ = a.Stopped == ""`:                                       false,
		`_ = strings.Contains(name, "failed")`:                      false,
	} {
		source := "package x; func f() { " + body + " }"
		file := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution))(t)
		assert.Equal(t, len(decisionsOnSentences(file)) > 0, found, "%s", body)
	}
}

// decisionsOnSentences are the places of a file that compare sentences or take them apart.
func decisionsOnSentences(file *ast.File) (found []token.Pos) {
	holding := map[string]bool{} // variables of a function that were given one
	isSentence := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.CallExpr:
			s, ok := e.Fun.(*ast.SelectorExpr)
			return ok && slices.Contains(sentences, s.Sel.Name)
		case *ast.SelectorExpr:
			return slices.Contains(sentences, e.Sel.Name)
		case *ast.Ident:
			return holding[e.Name]
		}
		return false
	}
	isWords := func(e ast.Expr) bool {
		literal, ok := e.(*ast.BasicLit)
		return ok && literal.Kind == token.STRING && literal.Value != `""`
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			clear(holding)
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[i].(*ast.Ident); ok && isSentence(value) {
					holding[name.Name] = true
				}
			}
		case *ast.BinaryExpr:
			if isSentence(n.X) && isWords(n.Y) && (n.Op == token.EQL || n.Op == token.NEQ) {
				found = append(found, n.Pos())
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && isSentence(n.Tag) {
				found = append(found, n.Pos())
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(asking, s.Sel.Name) || len(n.Args) == 0 {
				break
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "strings" && isSentence(n.Args[0]) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}
