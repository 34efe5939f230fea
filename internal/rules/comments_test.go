package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// named are a name of a package, like plan.Account, and a file of Go, as comments have them.
var (
	namedThing = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	namedFile  = regexp.MustCompile(`[\w/]*\w\.go\b`)
)

// TestCommentsNameWhatExists: things move, and comments that name them are not compiled.
func TestCommentsNameWhatExists(t *testing.T) {
	files := token.NewFileSet()
	declared := map[string]map[string]bool{} // by the name of a package
	var paths strings.Builder
	var comments []*ast.CommentGroup
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".":
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go":
			return nil
		}
		paths.WriteString("/" + filepath.ToSlash(path) + "\n")
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		comments = append(comments, file.Comments...)
		in := strings.TrimSuffix(file.Name.Name, "_test")
		if declared[in] == nil {
			declared[in] = map[string]bool{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
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
		return nil
	})
	must.Do(t, err)
	for _, c := range comments {
		at, text := files.Position(c.Pos()), c.Text()
		for _, n := range namedThing.FindAllStringSubmatch(text, -1) {
			d := declared[n[1]]
			assert.That(t, d == nil || d[n[2]], "%s: there is no %s", at, n[0])
		}
		for _, file := range namedFile.FindAllString(text, -1) {
			if file[0] != '/' && !strings.Contains(paths.String(), "/"+file+"\n") { // others stand in examples
				t.Errorf("%s: there is no file %s", at, file)
			}
		}
	}
}
