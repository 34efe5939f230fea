package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
)

// TestLocalsDoNotShadowImports: a name of a package means that package in the whole file. The tests of ui are not there
// yet.
func TestLocalsDoNotShadowImports(t *testing.T) {
	files := token.NewFileSet()
	must.Do(t, filepath.WalkDir(".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(at) != ".go" ||
			strings.HasSuffix(at, "_test.go") && strings.HasPrefix(at, "ui/") {
			return err
		}
		file, err := parser.ParseFile(files, at, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
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
					t.Errorf("%s: %s is an import, too", files.Position(id.Pos()), id.Name)
				}
			}
		}
		var inside func(n ast.Node) bool
		inside = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType: // its names are used behind a value, as are those of an interface
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
		return nil
	}))
}

var version = regexp.MustCompile(`/v\d+$`)

// importName is the name of a package, where it has no other one in the file.
func importName(i *ast.ImportSpec) string {
	return path.Base(version.ReplaceAllString(strings.Trim(i.Path.Value, `"`), ""))
}
