// Command sizes refuses code that is too large to read: lines of more than 120 columns (except for text in backquotes
// that reaches beyond them, and for tables and code in Markdown), functions of more than 80 lines (tables of values do
// not count), files of more than 600, and packages of more than 6,000 whose doc.go does not say why. `make lint` runs
// it.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const columns, functionLines, fileLines, packageLines = 120, 80, 600, 6000

// reason begins the sentence in a doc.go that says why a package is that large.
const reason = "It has more than 6,000 lines: "

func main() {
	var found []string
	packages := map[string]int{} // lines without tests, by folder
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		kind := filepath.Ext(path)
		if err != nil || kind != ".go" && kind != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		large := tooWide(path, text)
		if kind == ".go" {
			large, err = tooLarge(path, text)
			if !strings.HasSuffix(path, "_test.go") {
				packages[filepath.Dir(path)] += bytes.Count(text, []byte("\n"))
			}
		}
		found = append(found, large...)
		return err
	})
	found = append(found, unexplained(packages)...)
	for _, sentence := range found {
		fmt.Fprintln(os.Stderr, sentence)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || len(found) > 0 {
		os.Exit(1)
	}
}

func unexplained(packages map[string]int) (found []string) {
	for dir, lines := range packages {
		doc, _ := os.ReadFile(filepath.Join(dir, "doc.go"))
		if lines > packageLines && !bytes.Contains(doc, []byte(reason)) {
			found = append(found, fmt.Sprintf("%s: %d lines, more than %d, and its doc.go does not say why", dir, lines,
				packageLines))
		}
	}
	return found
}

func tooWide(path string, text []byte) (found []string) {
	code := false
	for i, l := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			code = !code
		}
		asItIs := code || strings.HasPrefix(l, "|") || strings.HasPrefix(l, "    ")
		if n := utf8.RuneCountInString(l); n > columns && !asItIs {
			found = append(found, fmt.Sprintf("%s:%d: %d columns, more than %d", path, i+1, n, columns))
		}
	}
	return found
}

func tooLarge(path string, text []byte) (found []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return files.Position(p).Line }
	raw := map[int]bool{} // lines with text in backquotes that does not end within the columns
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			for l := line(n.Pos()); n.Value[0] == '`' && l <= line(n.End()); l++ {
				raw[l] = l < line(n.End()) || files.Position(n.End()).Column > columns
			}
		case *ast.FuncDecl:
			if length := line(n.End()) - line(n.Pos()) + 1 - tables(n, line); length > functionLines {
				found = append(found, fmt.Sprintf("%s:%d: %s has %d lines, more than %d",
					path, line(n.Pos()), n.Name.Name, length, functionLines))
			}
		}
		return true
	})
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	for i, l := range lines {
		if n := utf8.RuneCount(l); n > columns && !raw[i+1] {
			found = append(found, fmt.Sprintf("%s:%d: %d columns, more than %d", path, i+1, n, columns))
		}
	}
	if len(lines) > fileLines {
		found = append(found, fmt.Sprintf("%s: %d lines, more than %d", path, len(lines), fileLines))
	}
	return found, nil
}

// tables returns how many lines of a function are lists and maps of values.
func tables(function *ast.FuncDecl, line func(token.Pos) int) (lines int) {
	ast.Inspect(function, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if ok {
			lines += line(literal.End()) - line(literal.Pos())
		}
		return !ok
	})
	return lines
}
