package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms are the packages that have a rule, with what they may import of dlxtop, and with the libraries that live in them.
// A library that is named here lives where it is named and nowhere else.
//
// The demo speaks AMQP by itself: it plays the applications, and its traffic must not pass through the code that is tested
// with it.
var rooms = map[string]struct{ own, libraries []string }{
	"dlxtop/model":   {nil, []string{"github.com/expr-lang/expr"}},
	"dlxtop/mgmt":    {[]string{"dlxtop/model"}, []string{"github.com/michaelklishin/rabbit-hole"}},
	"dlxtop/broker":  {[]string{"dlxtop/model"}, []string{"github.com/rabbitmq/amqp091-go"}},
	"dlxtop/journal": {[]string{"dlxtop/model"}, []string{"modernc.org/sqlite"}},
	"dlxtop/export":  {[]string{"dlxtop/model"}, nil},
	"dlxtop/demo":    {[]string{"dlxtop/model"}, []string{"github.com/rabbitmq/amqp091-go", "golang.org/x/sync"}},
	"dlxtop/cli":     {[]string{"dlxtop/model"}, nil},
	"dlxtop/ui": {[]string{"dlxtop/model"}, []string{
		"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/bubbles", "github.com/charmbracelet/lipgloss",
	}},
}

// closed are the packages that import no library but those which live in them.
var closed = []string{"dlxtop/model", "dlxtop/demo", "dlxtop/export"}

// shared are libraries that may be used in more than one place.
var shared = []string{"golang.org/x/sync"}

// goPackage is what the rule needs of a line of `go list -deps -json`.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func listed(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
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

// TestDependencyRule keeps the rooms apart: the model knows nobody, adapters never meet, and only main.go knows all.
func TestDependencyRule(t *testing.T) {
	packages := listed(t)
	standard := map[string]bool{}
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}
	seen := 0
	for _, p := range packages {
		room, ruled := roomOf(p.ImportPath)
		if !within(p.ImportPath, "dlxtop") || p.ImportPath == "dlxtop" {
			continue
		}
		if ruled {
			seen++
		}
		for _, imported := range p.Imports {
			switch {
			case standard[imported] || imported == "C":
			case within(imported, "dlxtop"):
				if ruled && !within(imported, room) && !slices.Contains(rooms[room].own, imported) {
					t.Errorf("%s imports %s", p.ImportPath, imported)
				}
			case slices.ContainsFunc(rooms[room].libraries, func(l string) bool { return within(imported, l) }):
			case slices.Contains(closed, room):
				t.Errorf("%s imports %s", p.ImportPath, imported)
			case !slices.ContainsFunc(shared, func(l string) bool { return within(imported, l) }) && livesSomewhere(imported):
				t.Errorf("%s imports %s, which lives elsewhere", p.ImportPath, imported)
			}
		}
	}
	if seen < len(rooms) {
		t.Errorf("only %d rooms were found in %d packages", seen, len(packages))
	}
}

// TestDependencyRuleIndirectly looks at everything that a room reaches, through whichever package.
func TestDependencyRuleIndirectly(t *testing.T) {
	for _, p := range listed(t) {
		room, ruled := roomOf(p.ImportPath)
		if !ruled {
			continue
		}
		for _, reached := range p.Deps {
			other, isRoom := roomOf(reached)
			if isRoom && other != room && !slices.Contains(rooms[room].own, other) {
				t.Errorf("%s reaches %s", p.ImportPath, reached)
			}
		}
	}
}

// roomOf is the room that a package belongs to.
func roomOf(path string) (room string, ruled bool) {
	for room := range rooms {
		if within(path, room) {
			return room, true
		}
	}
	return "", false
}

// livesSomewhere reports whether a library has a room of its own.
func livesSomewhere(library string) bool {
	for _, room := range rooms {
		if slices.ContainsFunc(room.libraries, func(l string) bool { return within(library, l) }) {
			return true
		}
	}
	return false
}

// within reports whether a package is another one or below it, major versions included.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}
