package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// named matches a name of a package, like plan.Account, and a Go file, as comments write them.
var (
	namedThing = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	namedFile  = regexp.MustCompile(`[\w/]*\w\.go\b`)
)

// TestComments checks names in comments, because code moves and the compiler does not check comments.
func TestComments(t *testing.T) {
	declared := declaredNames()
	var paths strings.Builder
	for _, file := range goFiles {
		paths.WriteString("/" + file.path + "\n")
	}

	for _, file := range goFiles {
		for _, c := range file.Comments {
			at, text := positions.Position(c.Pos()), c.Text()
			for _, n := range namedThing.FindAllStringSubmatch(text, -1) {
				d := declared[n[1]]
				assert.That(t, d == nil || d[n[2]], "%s: there is no %s", at, n[0])
			}

			for _, name := range namedFile.FindAllString(text, -1) {
				if name[0] != '/' && !strings.Contains(paths.String(), "/"+name+"\n") { // other paths are examples
					t.Errorf("%s: there is no file %s", at, name)
				}
			}
		}
	}
}

// TestScreensChangeNoEnv refuses assignments in screens to fields of the Env that all of them share.
func TestScreensChangeNoEnv(t *testing.T) {
	change := regexp.MustCompile(`\b[eE]nv\.[A-Z]\w*(\[.*\])?(, .*)? \+?= `)
	for _, file := range goFiles {
		if strings.HasPrefix(file.path, "ui/") && strings.Count(file.path, "/") > 1 { // its root makes it
			found := change.Find(must.Get(os.ReadFile(file.path))(t))
			assert.That(t, found == nil, "%s: %s", file.path, found)
		}
	}
}

// packageOf returns the name of a file's package, without the suffix of external tests.
func packageOf(file goFile) string { return strings.TrimSuffix(file.Name.Name, "_test") }

// declaredNames returns the names that packages declare, fields and parameters among them, by the name of the package.
func declaredNames() map[string]map[string]bool {
	declared := map[string]map[string]bool{}
	for _, file := range goFiles {
		in := packageOf(file)
		if declared[in] == nil {
			declared[in] = map[string]bool{}
		}

		ast.Inspect(file.File, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = []*ast.Ident{n.Name}
			case *ast.TypeSpec:
				names = []*ast.Ident{n.Name}
			case *ast.ValueSpec:
				names = n.Names
			case *ast.Field:
				names = n.Names
			}

			for _, name := range names {
				declared[in][name.Name] = true
			}

			return true
		})
	}

	return declared
}

// TestLocalsDoNotShadowImports: a package's name means that package in the whole file. The tests of ui do not follow
// this yet.
func TestLocalsDoNotShadowImports(t *testing.T) {
	for _, file := range goFiles {
		if file.isTest && strings.HasPrefix(file.path, "ui/") {
			continue
		}
		imported := map[string]bool{}
		for _, i := range file.Imports {
			if i.Name == nil {
				imported[importName(i)] = true
			} else {
				imported[i.Name.Name] = true
			}
		}

		delete(imported, "_")
		check := func(names ...ast.Expr) {
			for _, name := range names {
				if id, ok := name.(*ast.Ident); ok && imported[id.Name] {
					t.Errorf("%s: %s is an import, too", positions.Position(id.Pos()), id.Name)
				}
			}
		}

		var inside func(n ast.Node) bool

		inside = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType: // field names are used after a value, as are the methods of an interface
				return false
			case *ast.InterfaceType:
				for _, method := range n.Methods.List {
					ast.Inspect(method.Type, inside)
				}

				return false
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					check(n.Lhs...)
				}
			case *ast.RangeStmt:
				if n.Tok == token.DEFINE {
					check(n.Key, n.Value)
				}
			case *ast.Field:
				for _, name := range n.Names {
					check(name)
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					check(name)
				}
			}

			return true
		}

		for _, d := range file.Decls {
			ast.Inspect(d, inside)
		}
	}
}

var version = regexp.MustCompile(`/v\d+$`)

// importName returns the name of an imported package, unless the file renames it.
func importName(i *ast.ImportSpec) string {
	return filepath.Base(version.ReplaceAllString(strings.Trim(i.Path.Value, `"`), ""))
}

// TestExportedFunctionsAreUsed: an exported function is for other packages; a function that only its own package calls
// begins with a small letter. Types and values are exempt: other packages use them through fields without naming them.
func TestExportedFunctionsAreUsed(t *testing.T) {
	exported := map[[2]string]token.Position{} // by package name and function name
	used := map[[2]string]bool{}               // by the same key
	for _, file := range goFiles {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.IsExported() && !file.isTest {
				exported[[2]string{file.Name.Name, f.Name.Name}] = positions.Position(f.Pos())
			}
		}

		ast.Inspect(file.File, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					used[[2]string{x.Name, s.Sel.Name}] = true
				}
			}
			return true
		})
	}

	must.That(t, len(exported) >= 100, "%d functions were found", len(exported))
	for name, at := range exported {
		assert.That(t, used[name], "%s: no other package calls %s.%s", at, name[0], name[1])
	}
}

// speaksToTerminals are the files that may contain an escape character, with the reason. All styles come from lipgloss,
// in ui/term.
var speaksToTerminals = map[string]string{
	"ui/background.go":       "reads the terminal's answer about its background",
	"cli/report/progress.go": "clears the line of a command's progress",
	"model/serial/value.go":  "takes a text with colours for a text",
}

// TestOnlyTermMakesEscapes: styles come from lipgloss, through ui/term, and no other file writes an escape sequence.
func TestOnlyTermMakesEscapes(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range spokenFiles() {
		ast.Inspect(file.File, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || !escapes(l) {
				return true
			}
			seen[file.path] = true
			assert.That(t, speaksToTerminals[file.path] != "",
				"%s has the escape character %s: looks are made in ui/term, by lipgloss", file.path, l.Value)
			return true
		})
	}

	for path := range speaksToTerminals {
		assert.That(t, seen[path], "%s has no escape character any more: take it off the list", path)
	}
}

// escapes reports whether a literal is or contains an escape character.
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

// othersWords are the files that parse the error texts of libraries which offer neither codes nor types.
var othersWords = map[string]string{
	"broker/link/connect_errors.go": "crypto/tls",
	"mgmt/reasons.go":               "net/http",
	"model/filter/expression.go":    "the compiler of expressions",
	"cli/act.go":                    "the compiler of expressions",
	"model/draft/text.go":           "encoding/json",
}

var (
	// sentences are the methods and fields that hold text which dlxtop shows.
	sentences = []string{"Error", "Words", "Stopped", "Why"}
	// asking are the functions of package strings that decide by a text or take it apart.
	asking = []string{
		"Contains", "HasPrefix", "HasSuffix", "TrimPrefix", "TrimSuffix", "CutPrefix", "CutSuffix", "Index", "Cut",
		"EqualFold", "Split", "Fields", "Count",
	}
)

// TestDecisionsAreMadeOnValues: no code decides by a sentence. Parts of dlxtop exchange facts as kinds with
// values.
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

// decisionsOnSentences returns the places of a file that compare sentences or take them apart.
func decisionsOnSentences(file *ast.File) (found []token.Pos) {
	holding := map[string]bool{} // variables of a function that were assigned a sentence
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
