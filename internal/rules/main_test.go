package rules_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goFile is a Go file with its comments.
type goFile struct {
	*ast.File
	path   string // from the root, with slashes
	isTest bool
}

var (
	positions = token.NewFileSet()
	goFiles   []goFile // of the repository and its nested modules, in order
)

// TestMain runs all tests in the root of the repository, and parses it.
func TestMain(m *testing.M) {
	err := os.Chdir("../..")
	if err == nil {
		err = filepath.WalkDir(".", parse)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	os.Exit(m.Run())
}

func parse(path string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case entry.IsDir() && path != "." && (entry.Name()[0] == '.' || entry.Name() == "testdata"):
		return fs.SkipDir
	case filepath.Ext(path) != ".go":
		return nil
	}

	path = filepath.ToSlash(path)
	file, err := parser.ParseFile(positions, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	goFiles = append(goFiles, goFile{file, path, strings.HasSuffix(path, "_test.go")})
	return err
}
