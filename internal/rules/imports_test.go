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

// rooms are the packages that have a rule, with the packages of dlxtop and the libraries that they may import. A
// package may import only the libraries that are named for it here.
//
// The demo speaks AMQP by itself: it plays the applications, and its traffic must not pass through the code under test.
var rooms = map[string]struct{ own, libraries []string }{
	module + "/model":         {nil, nil},
	module + "/model/serial":  {nil, nil},
	module + "/model/message": {of("model", "model/serial"), nil},
	module + "/model/filter":  {of("model", "model/message"), []string{"github.com/expr-lang/expr"}},
	module + "/model/body": {of("model", "model/serial", "model/message", "model/filter"), []string{
		"github.com/klauspost/compress", "github.com/fxamacker/cbor", "google.golang.org/protobuf",
		"github.com/aymanbagabas/go-udiff",
	}},
	module + "/model/cause":  {of("model", "model/message"), nil},
	module + "/model/peek":   {of("model", "model/message"), nil},
	module + "/model/find":   {of("model", "model/message", "model/filter", "model/body", "model/peek"), nil},
	module + "/model/story":  {of("model", "model/message", "model/peek"), nil},
	module + "/model/watch":  {of("model"), nil},
	module + "/model/mend":   {of("model", "model/message"), []string{"github.com/itchyny/gojq"}},
	module + "/model/draft":  {of("model", "model/message"), nil},
	module + "/model/loss":   {of("model", "model/message"), nil},
	module + "/model/target": {of("model", "model/message", "model/loss"), nil},
	module + "/model/plan": {
		of("model", "model/message", "model/filter", "model/cause", "model/mend", "model/peek", "model/loss",
			"model/draft", "model/target"), nil,
	},
	module + "/model/resume": {of("model", "model/message", "model/peek", "model/plan"), nil},
	module + "/model/action": {of("model", "model/message", "model/plan", "model/resume"), nil},
	module + "/model/trace":  {of("model", "model/message", "model/story", "model/plan"), nil},
	module + "/model/turns": {
		of("model", "model/message", "model/peek", "model/plan", "model/resume", "model/action"), nil,
	},
	module + "/model/dashboard": {of("model/filter", "model/body"), nil},
	module + "/model/findings":  {of("model", "model/message", "model/peek", "model/story"), nil},
	module + "/model/build":     {of("model"), []string{"pgregory.net/rapid"}}, // for tests only: no room may import it
	module + "/mgmt": {
		of("model", "model/message"), []string{"github.com/michaelklishin/rabbit-hole", "golang.org/x/sync"},
	},
	module + "/broker/spool": {of("internal/prune", "broker/wire", "model", "model/message", "model/peek"), nil},
	module + "/broker/wire":  {of("model", "model/message"), []string{"github.com/rabbitmq/amqp091-go"}},
	module + "/broker/link":  {of("broker/wire", "model"), []string{"github.com/rabbitmq/amqp091-go"}},
	module + "/broker/tap": {
		of("broker/wire", "broker/link", "model", "model/message", "model/peek", "model/trace"),
		[]string{"github.com/rabbitmq/amqp091-go"},
	},
	module + "/broker": {
		of("broker/spool", "broker/wire", "broker/link", "broker/tap", "model", "model/message", "model/mend", "model/peek",
			"model/plan",
			"model/resume", "model/trace"),
		[]string{"github.com/rabbitmq/amqp091-go"},
	},
	module + "/journal": {of("model", "model/message", "model/peek", "model/plan"), []string{
		"modernc.org/sqlite", "github.com/gofrs/flock",
	}},
	module + "/export":      {of("model", "model/message"), nil},
	module + "/jq":          {of("model", "model/message", "model/mend"), nil},
	module + "/preferences": {of("internal/prune"), []string{"github.com/gofrs/flock"}},
	module + "/docs":        {nil, nil},
	module + "/demo":        {nil, []string{"github.com/rabbitmq/amqp091-go", "golang.org/x/sync"}},
	module + "/cli/config": {
		of("preferences", "model", "model/filter", "model/body", "model/peek", "model/dashboard"),
		[]string{"github.com/BurntSushi/toml"},
	},
	module + "/cli/print": {
		of("model"), []string{"github.com/charmbracelet/x/ansi", "github.com/charmbracelet/x/term"},
	},
	module + "/cli/report": {
		of("cli/print", "model", "model/action", "model/message", "model/body", "model/cause", "model/peek", "model/plan",
			"model/resume"), nil,
	},
	module + "/cli": {
		of("cli/config", "cli/print", "cli/report", "model", "model/action", "model/message", "model/filter",
			"model/body", "model/cause", "model/mend", "model/peek", "model/find", "model/loss", "model/target", "model/plan",
			"model/resume", "model/trace", "model/findings", "model/turns", "model/dashboard", "docs"),
		[]string{
			"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/muesli/cancelreader", "golang.org/x/sync",
		},
	},
	module + "/ui/term": {of("model"), append([]string{"github.com/charmbracelet/lipgloss"}, charm...)},
	module + "/ui/picture": {
		of("ui/term", "model", "model/story", "model/watch", "model/findings"),
		[]string{"github.com/charmbracelet/x/ansi"},
	},
	module + "/ui/shell": {
		append(of("ui/picture"), seen...),
		append([]string{
			"github.com/aymanbagabas/go-osc52", "github.com/charmbracelet/x/term", "golang.org/x/sync",
		}, charm...),
	},
	module + "/ui/act": {append(of("ui/picture", "ui/shell"), seen...), charm},
	module + "/ui/messages": {
		append(of("ui/act", "ui/shell"), seen...), append([]string{"golang.org/x/sync"}, charm...),
	},
	module + "/ui/causes": {append(of("ui/picture", "ui/messages", "ui/act", "ui/shell"), seen...), charm},
	module + "/ui/trace":  {append(of("ui/picture", "ui/act", "ui/shell"), seen...), charm},
	module + "/ui/flows": {
		append(of("ui/picture", "ui/causes", "ui/messages", "ui/trace", "ui/shell"), seen...), charm,
	},
	module + "/ui": {
		append(of("ui/picture", "ui/flows", "ui/causes", "ui/messages", "ui/trace", "ui/act", "ui/shell"), seen...), charm,
	},
	module + "/internal/built": {of("demo", "internal/dial", "internal/must"), []string{ // for tests only
		"github.com/charmbracelet/x/ansi", "github.com/charmbracelet/x/vt", "github.com/creack/pty",
	}},
	module + "/internal/manual": {nil, []string{"github.com/spf13/cobra", "github.com/cpuguy83/go-md2man"}},
	module + "/internal/depth":  {nil, []string{"github.com/rabbitmq/amqp091-go"}},                 // for tests only
	module + "/internal/dial":   {of("internal/must"), []string{"github.com/rabbitmq/amqp091-go"}}, // the same
	module + "/internal/manage": {of("internal/must"), []string{"github.com/michaelklishin/rabbit-hole"}},
	module + "/internal/must":   {of("internal/assert"), []string{"github.com/BurntSushi/toml"}}, // files of cases
}

// seen is what screens may import: no adapter.
var seen = of("ui/term", "model", "model/action", "model/message", "model/filter", "model/body", "model/cause",
	"model/mend", "model/peek", "model/find", "model/story", "model/watch", "model/draft", "model/loss", "model/target",
	"model/plan", "model/resume", "model/trace", "model/findings", "model/turns", "model/dashboard", "docs")

// charm are the libraries for screens. Lip Gloss, which makes their styles, may be imported only in ui/term.
var charm = []string{
	"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/bubbles", "github.com/charmbracelet/x/ansi",
	"github.com/muesli/termenv",
}

// module is the path that all packages of dlxtop begin with.
const module = "github.com/dlxtop/dlxtop"

// of returns packages of dlxtop. Their own imports may be reached, too.
func of(names ...string) []string {
	for i := range names {
		names[i] = module + "/" + names[i]
	}
	return names
}

// goPackage is the part of a line of `go list -deps -json` that the rule needs.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func listed(t *testing.T) []goPackage {
	t.Helper()
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
				assert.That(t, !ruled || imported == room || slices.Contains(rooms[room].own, imported),
					"%s imports %s", p.ImportPath, imported)
			case !slices.ContainsFunc(rooms[room].libraries, func(l string) bool { return within(imported, l) }):
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
	return slices.ContainsFunc(rooms[room].own, func(own string) bool { return own == other || reachable(own, other) })
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
