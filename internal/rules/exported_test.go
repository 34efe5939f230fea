package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestExportedFunctionsAreUsed: what a package exports is for others; a function that only it calls begins with a small
// letter. Types and values are left out: others have them through fields and kinds without naming them.
func TestExportedFunctionsAreUsed(t *testing.T) {
	exported := map[[2]string]token.Position{} // by the names of package and function
	used := map[[2]string]bool{}               // the same
	files := token.NewFileSet()
	must.Do(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.IsExported() && !strings.HasSuffix(path, "_test.go") {
				exported[[2]string{file.Name.Name, f.Name.Name}] = files.Position(f.Pos())
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					used[[2]string{x.Name, s.Sel.Name}] = true
				}
			}
			return true
		})
		return nil
	}))
	must.That(t, len(exported) >= 100, "%d functions were found", len(exported))
	for name, at := range exported {
		assert.That(t, used[name], "%s: no other package calls %s.%s", at, name[0], name[1])
	}
}
