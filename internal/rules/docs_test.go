package rules_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/ui"
)

var updateGoldens = flag.Bool("update", false, "rewrite the pages of docs that are made from the code")

// TestDocsAreGenerated compares the parts of the documentation that the code knows best with the code.
func TestDocsAreGenerated(t *testing.T) {
	for _, page := range []struct {
		path, part string
		text       string
	}{
		{"docs/keys.md", "keys", keysPage()},
		{"docs/commands.md", "commands", commandsPage()},
		{"docs/expressions.md", "fields", fieldsPage()},
		{"docs/expressions.md", "functions", functionsPage()},
		{"docs/json.md", "outputs", jsonPage(t)},
		{"docs/configuration.md", "themes", "`" + strings.Join(ui.Themes(), "`, `") + "`\n"},
	} {
		old := must.Get(os.ReadFile(page.path))(t)
		begin, end := "<!-- generated: "+page.part+" -->\n", "<!-- end: "+page.part+" -->"
		before, rest, ok1 := strings.Cut(string(old), begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Errorf("%s has no part %s", page.path, page.part)
			continue
		}
		text := before + begin + page.text + end + after
		if text == string(old) {
			continue
		}
		if !*updateGoldens {
			t.Errorf("%s is not what the code says: go test ./internal/rules -update", page.path)
			continue
		}
		must.Do(t, os.WriteFile(page.path, []byte(text), 0o644))
	}
}

func keysPage() string {
	var b strings.Builder
	for _, g := range ui.KeyHelp() {
		if strings.HasPrefix(g.Place, "commands") { // words, which the line behind : lists
			continue
		}
		fmt.Fprintf(&b, "## %s%s\n\n```text\n", strings.ToUpper(g.Place[:1]), g.Place[1:])
		for _, k := range g.Keys {
			fmt.Fprintf(&b, "%-16s %s\n", strings.Join(k.Names, " "), k.Does)
		}
		b.WriteString("```\n\n")
	}
	return b.String()
}

// wholeProgram has what its help says of themes and scenarios.
func wholeProgram() *cli.Program {
	program := cli.Program{Themes: ui.Themes(), Env: func(string) string { return "" }}
	for _, s := range demo.Scenarios() {
		program.Scenarios = append(program.Scenarios, cli.Scenario{Name: s.Name, About: s.Summary})
	}
	return &program
}

// commandsPage names the commands and their flags: what these mean, --help and the man pages say.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("```text\n")
	for _, c := range wholeProgram().Commands() {
		fmt.Fprintf(&b, "%s\n  %s", c.Use, strings.TrimSuffix(c.Short, "."))
		column := 100
		for _, f := range c.Flags {
			if column += len(" " + f.Name); column > 100 {
				b.WriteString("\n ")
				column = len("  " + f.Name)
			}
			b.WriteString(" " + f.Name)
		}
		b.WriteString("\n")
	}
	return b.String() + "```\n"
}

func fieldsPage() string {
	var b strings.Builder
	for _, f := range filter.Fields() {
		kind := ""
		if f.Type() != "text" {
			kind = fmt.Sprintf(" (%s)", f.Type())
		}
		fmt.Fprintf(&b, "- `%s`%s: %s\n", f.Name, kind, f.What)
	}
	return b.String()
}

func functionsPage() string {
	var b strings.Builder
	column := 0
	for _, name := range filter.Functions() {
		if column += len(name) + len("`` "); column > 100 {
			b.WriteString("\n")
			column = 0
		} else if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString("`" + name + "`")
	}
	return b.String() + "\n"
}

// The example of a configuration that `dlxtop config` prints names every theme.
func TestExampleNamesThemes(t *testing.T) {
	var out, errs bytes.Buffer
	program := cli.Program{
		In: strings.NewReader(""), Out: &out, Err: &errs,
		Env: func(name string) string {
			return map[string]string{"HOME": "/home/you"}[name]
		},
	}
	status := program.Run(t.Context(), []string{"config"})
	must.That(t, status == cli.ExitDone, "exit status %d: %s", status, errs.String())
	for _, theme := range ui.Themes() {
		assert.That(t, strings.Contains(out.String(), `"`+theme+`"`), "the example does not name the theme %s", theme)
	}
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocsLinks follows every relative link of the documentation: to a file that exists, and to a heading in it.
func TestDocsLinks(t *testing.T) {
	pages := []string{
		"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
		"bench/README.md", "broker/README.md", "clients/README.md", "e2e/README.md", "mgmt/README.md",
	}
	must.Do(t, filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	seen := 0
	for _, page := range pages {
		text := must.Get(os.ReadFile(page))(t)
		for _, link := range links.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			to, err := url.Parse(link[1])
			if err != nil || to.Scheme != "" {
				continue
			}
			seen++
			path := page
			if to.Path != "" {
				path = filepath.Join(filepath.Dir(page), to.Path)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, link[1])
				continue
			}
			assert.That(t, to.Fragment == "" || hasHeading(t, path, to.Fragment),
				"%s: there is no heading for the link %s", page, link[1])
		}
	}
	assert.That(t, seen >= 20, "only %d links were found", seen)
}

// hasHeading reports whether a heading of a page has this anchor, as GitHub and others make it.
func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Error(err)
		return false
	}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		plain := noAnchor.ReplaceAllString(strings.ToLower(found[1]), "")
		if strings.ReplaceAll(plain, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestTroubleshootingQuotes looks for what docs/troubleshooting.md says that dlxtop says: a reader searches for it.
func TestTroubleshootingQuotes(t *testing.T) {
	var said strings.Builder
	for _, room := range []string{"model", "model/peek", "model/plan", "cli", "cli/config", "ui"} {
		files, err := filepath.Glob(room + "/*.go")
		must.That(t, err == nil && len(files) > 0, "%v %v", room, err)
		for _, file := range files {
			text := must.Get(os.ReadFile(file))(t)
			if !strings.HasSuffix(file, "_test.go") {
				said.WriteString(acrossLines.ReplaceAllString(string(text), ""))
			}
		}
	}
	page := must.Get(os.ReadFile("docs/troubleshooting.md"))(t)
	quotes := quotedThere.FindAllStringSubmatch(string(page), -1)
	assert.That(t, len(quotes) >= 15, "only %d sentences are quoted", len(quotes))
	for _, quote := range quotes {
		for _, part := range standIns.Split(quote[1], -1) {
			if part = strings.TrimSpace(part); len(part) >= 8 && !strings.Contains(said.String(), part) {
				t.Errorf("docs/troubleshooting.md quotes %q, and dlxtop does not say %q (any more)", quote[1], part)
			}
		}
	}
}

var (
	quotedThere = regexp.MustCompile("(?m)^- `([^`]+)`:")
	acrossLines = regexp.MustCompile(`"\s*\+\s*"`)                  // of a text on two lines
	standIns    = regexp.MustCompile(`…|HOST(:\d+)?|\b[A-Z]\b|\d+`) // what stands for a name or a number
)
