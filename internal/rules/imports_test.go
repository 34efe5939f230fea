package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// room is a package that has a rule, with the packages of dlxtop and the libraries that it may import.
type room struct {
	Room           string
	Own, Libraries []string
}

// rooms are those of testdata/rooms.toml, by their paths.
var rooms = map[string]room{}

func readRooms(t *testing.T) {
	t.Helper()
	all := must.Cases[room](t, "internal/rules/testdata/rooms.toml")
	screens := all[0]

	for _, r := range all[1:] {
		if slices.Contains(r.Own, screens.Room) {
			r.Own = append(r.Own, screens.Own...)
		}
		if slices.Contains(r.Libraries, screens.Room) {
			r.Libraries = append(r.Libraries, screens.Libraries...)
		}
		for i, own := range r.Own {
			r.Own[i] = module + "/" + own
		}
		rooms[module+"/"+r.Room] = r
	}
}

// module is the path that all packages of dlxtop begin with.
const module = "github.com/dlxtop/dlxtop"

// goPackage is the part of a line of `go list -deps -json` that the rule needs.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func listed(t *testing.T) []goPackage {
	t.Helper()
	readRooms(t)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps",
		"./...").Output()
	if err != nil {
		var exit *exec.ExitError
		must.That(t, !errors.As(err, &exit), "go list: %s", exit.Stderr)
		t.Fatal(err)
	}

	var packages []goPackage
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p goPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestDependencyRule keeps packages apart: the model imports no other, adapters never meet, only main.go imports all.
func TestDependencyRule(t *testing.T) {
	packages := listed(t)
	standard := map[string]bool{}
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}

	seen := 0
	for _, p := range packages {
		room, ruled := roomOf(p.ImportPath)
		if !within(p.ImportPath, module) || p.ImportPath == module {
			continue
		}
		if ruled {
			seen++
		}

		for _, imported := range p.Imports {
			switch {
			case standard[imported] || imported == "C":
			case within(imported, module):
				assert.That(t, !ruled || imported == room || slices.Contains(rooms[room].Own, imported),
					"%s imports %s", p.ImportPath, imported)
			case !slices.ContainsFunc(rooms[room].Libraries, func(l string) bool { return within(imported, l) }):
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}

	assert.That(t, seen >= len(rooms), "only %d rooms were found in %d packages", seen, len(packages))
}

// TestDependencyRuleIndirectly checks all direct and indirect imports of a package.
func TestDependencyRuleIndirectly(t *testing.T) {
	for _, p := range listed(t) {
		room, ruled := roomOf(p.ImportPath)
		if !ruled {
			continue
		}
		for _, reached := range p.Deps {
			other, isRoom := roomOf(reached)
			assert.That(t, !isRoom || other == room || reachable(room, other), "%s reaches %s", p.ImportPath, reached)
		}
	}
}

// reachable reports whether one package may reach another, by its own imports or by theirs.
func reachable(room, other string) bool {
	return slices.ContainsFunc(rooms[room].Own, func(own string) bool { return own == other || reachable(own, other) })
}

func roomOf(path string) (room string, ruled bool) {
	for r := range rooms {
		if within(path, r) && len(r) > len(room) {
			room, ruled = r, true
		}
	}

	return room, ruled
}

// within reports whether a package is another one or below it, including major versions.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// byClusters are the functions that count or cut by the cells of grapheme clusters: on a terminal that draws rune by
// rune a text is wider than they say. In ui, cut replaces TruncateWc, and behind replaces TruncateLeftWc.
var byClusters = regexp.MustCompile(
	`\b(ansi\.(StringWidth|Truncate|TruncateWc|TruncateLeft|Wrap|Wordwrap|Hardwrap|Cut)` +
		`|lipgloss\.(Width|Size|Place\w*|Join\w+))\(`)

func TestCellsAreCountedByRunes(t *testing.T) {
	for _, file := range spokenFiles() {
		if room, _, _ := strings.Cut(file.path, "/"); room != "ui" && room != "cli" {
			continue
		}
		text := must.Get(os.ReadFile(file.path))(t)
		for i, line := range strings.Split(string(text), "\n") {
			found := byClusters.FindString(line)
			assert.That(t, found == "" || strings.Contains(line, "Repeat("), "%s:%d: %s counts by clusters", file.path, i+1,
				found)
		}
	}
}
