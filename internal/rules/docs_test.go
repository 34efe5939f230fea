package rules_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manual"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/alarm"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/ui"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateGoldens = flag.Bool("update", false, "rewrite the pages of docs that are made from the code")

// TestDocsAreGenerated compares the generated parts of the documentation with the code.
func TestDocsAreGenerated(t *testing.T) {
	for _, page := range []struct {
		path, part string
		text       string
	}{
		{"docs/keys.md", "keys", keysPage()},
		{"docs/commands.md", "commands", commandsPage()},
		{"docs/expressions.md", "fields", fieldsPage()},
		{"docs/expressions.md", "functions", functionsPage()},
		{"docs/watch.md", "facts", factsPage()},
		{"docs/json.md", "outputs", jsonPage(t)},
		{"docs/configuration.md", "themes", "`" + strings.Join(ui.Themes(), "`, `") + "`\n"},
	} {
		old := must.Get(os.ReadFile(page.path))(t)
		begin := "<!-- generated: " + page.part + " -->\n"
		end := "<!-- end: " + page.part + " -->"
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
		fmt.Fprintf(&b, "## %s%s\n\n```text\n", strings.ToUpper(g.Place[:1]), g.Place[1:])
		for _, k := range g.Keys {
			fmt.Fprintf(&b, "%-16s %s\n", strings.Join(k.Names, " "), k.Does)
		}
		b.WriteString("```\n\n")
	}

	return b.String()
}

// wholeProgram returns the program with the themes and scenarios that its help mentions.
func wholeProgram() *cli.Program {
	program := cli.Program{Screens: config.Screens{Themes: ui.Themes()}, Env: func(string) string { return "" }}
	for _, s := range demo.Scenarios() {
		program.Scenarios = append(program.Scenarios, cli.Scenario{Name: s.Name, About: s.Summary})
	}
	return &program
}

// commandsPage lists the commands and their flags; --help and the man pages explain them.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("```text\n")
	for _, c := range wholeProgram().Commands() {
		use := c.Use
		if c.HasParent() {
			use = c.Parent().CommandPath() + " " + use
		}

		fmt.Fprintf(&b, "%s\n  %s", use, strings.TrimSuffix(c.Short, "."))
		column := 100
		for _, f := range flagsOf(c) {
			name := " --" + f.Name
			if column += len(name); column > 100 {
				b.WriteString("\n ")
				column = len(" " + name)
			}
			b.WriteString(name)
		}

		b.WriteString("\n")
	}

	return b.String() + "```\n"
}

// flagsOf returns a command's own flags, and those of all commands with the first one.
func flagsOf(c *cobra.Command) (own []*pflag.Flag) {
	for _, set := range []*pflag.FlagSet{c.LocalNonPersistentFlags(), c.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden {
				own = append(own, f)
			}
		})
	}

	return own
}

func fieldsPage() string {
	var b strings.Builder
	for _, f := range filter.Fields() {
		kind := ""
		if f.Type != "text" {
			kind = fmt.Sprintf(" (%s)", f.Type)
		}
		absent := ""
		if f.Absent != "" {
			absent = "; absent " + f.Absent
		}
		fmt.Fprintf(&b, "- `%s`%s: %s%s\n", f.Name, kind, f.What, absent)
	}

	return b.String()
}

func factsPage() string {
	var b strings.Builder
	b.WriteString("| fact | unit | of | what |\n|---|---|---|---|\n")
	for _, f := range alarm.Facts {
		of := "all"
		if f.Of != nil {
			of = strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Of), " ", ", "), "[]")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Unit, of, f.What)
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

// The example configuration that `dlxtop config` prints names every theme.
func TestExampleNamesThemes(t *testing.T) {
	for _, theme := range ui.Themes() {
		assert.Contains(t, config.Example, `"`+theme+`"`)
	}
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocsLinks follows every relative link of the documentation: the file and the heading must exist.
func TestDocsLinks(t *testing.T) {
	pages := []string{
		"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
		"bench/README.md", "broker/README.md", "clients/README.md", "e2e/README.md", "mgmt/README.md",
		"screenshots/README.md",
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

// hasHeading reports whether a heading of a page has this anchor, as GitHub and others derive it.
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

// troubles has sentences outside of the code.
const troubles = "model/trouble/words.toml"

// TestTroubleshootingQuotes checks that dlxtop says what docs/troubleshooting.md quotes: readers search for it.
func TestTroubleshootingQuotes(t *testing.T) {
	var said strings.Builder
	for _, file := range spokenFiles() {
		text := must.Get(os.ReadFile(file.path))(t)
		said.WriteString(acrossLines.ReplaceAllString(string(text), ""))
	}

	said.Write(must.Get(os.ReadFile(troubles))(t))
	page := must.Get(os.ReadFile("docs/troubleshooting.md"))(t)
	quotes := quotedThere.FindAllStringSubmatch(string(page), -1)
	assert.That(t, len(quotes) >= 15, "only %d sentences are quoted", len(quotes))
	for _, quote := range quotes {
		for _, part := range standIns.Split(quote[1], -1) {
			part = strings.TrimSpace(part)
			assert.That(t, len(part) < 8 || strings.Contains(said.String(), part),
				"docs/troubleshooting.md quotes %q, and dlxtop does not say %q (any more)", quote[1], part)
		}
	}
}

var (
	quotedThere = regexp.MustCompile("(?m)^- `([^`]+)`:")
	acrossLines = regexp.MustCompile(`"\s*\+\s*"`)                  // in a text split over two lines
	standIns    = regexp.MustCompile(`…|HOST(:\d+)?|\b[A-Z]\b|\d+`) // placeholders for names and numbers
)

// jsonOutputs are the commands that write JSON, with the types that they write.
var jsonOutputs = []struct{ title, room, name string }{
	{"`flows`", "cli/overview", "flowsJSON"},
	{"`peek`", "cli", "peekJSON"},
	{"A message", "model/message", "MessageJSON"},
	{"`causes`", "cli", "causesJSON"},
	{"`find`: a line for each hit", "cli", "hitJSON"},
	{"`find`: the last line", "cli", "foundJSON"},
	{"`replay`, `move`, `drop`, `import`, `journal undo`, `journal resume`", "cli/report", "accountJSON"},
	{"`findings`", "cli", "findingsJSON"},
	{"`journal`", "cli", "recordsJSON"},
	{"`demo --no-ui`", "cli", "demoJSON"},
	{"`watch`: a line for each event, what `--run` and `--webhook` get", "model/alarm", "Event"},
	{"`version`", "cli", "versionJSON"},
}

// jsonPage describes what the commands write with -o json, from the types and the comments on their fields.
func jsonPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	said := map[string]bool{}
	for _, o := range jsonOutputs {
		room := jsonRoom{t, structsIn(o.room), said}
		fmt.Fprintf(&b, "## %s\n\n", o.title)
		room.write(&b, "", o.name)
		b.WriteString("\n")
	}

	return b.String()
}

func structsIn(room string) map[string]*ast.StructType {
	structs := map[string]*ast.StructType{}
	for _, file := range goFiles {
		if filepath.Dir(file.path) != room {
			continue
		}
		ast.Inspect(file.File, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}

	return structs
}

// jsonRoom writes rows for the structs of one package.
type jsonRoom struct {
	t       *testing.T
	structs map[string]*ast.StructType
	said    map[string]bool // fields described further up
}

// fieldJSON describes fields: those of one struct with the same description share a line.
type fieldJSON struct {
	names              []string
	kind, what, within string
}

// fields returns the fields of a struct, including those of embedded structs.
func (r jsonRoom) fields(name string) (all []fieldJSON) {
	r.t.Helper()
	s := r.structs[name]
	must.That(r.t, s != nil, "there is no struct %s", name)
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 { // embedded: its fields belong to this struct
			all = append(all, r.fields(f.Type.(*ast.Ident).Name)...)
			continue
		}

		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		key, options, _ := strings.Cut(tag, ",")
		what := strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
		assert.That(r.t, what != "", "%s: the field %s has no comment, so docs/json.md cannot say what it is", name, key)
		kind, within := jsonKind(f.Type)

		of := f.Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		if _, list := of.(*ast.ArrayType); list {
			key += "[]"
		}
		if options != "" {
			key += "?"
		}
		if r.structs[within] == nil {
			within = ""
		}

		field := fieldJSON{kind: kind, what: what, within: within}
		i := slices.IndexFunc(all, func(f fieldJSON) bool {
			return within == "" && f.kind == kind && f.what == what && f.within == "" && len(f.names) < 5
		})
		if i < 0 {
			i, all = len(all), append(all, field)
		}

		all[i].names = append(all[i].names, "`"+key+"`")
	}

	return all
}

// write writes a line for each field of a struct, and below it those of nested structs.
func (r jsonRoom) write(b *strings.Builder, indent, name string) {
	r.t.Helper()
	var again []string
	for _, f := range r.fields(name) {
		text := fmt.Sprint(f)
		if f.within == "" && r.said[text] {
			again = append(again, f.names...)
			continue
		}

		r.said[text] = true
		kind := ""
		if f.kind != "text" && f.kind != "number" && f.within == "" {
			kind = " (" + f.kind + ")"
		}

		fmt.Fprintf(b, "%s- %s%s: %s\n", indent, strings.Join(f.names, ", "), kind, f.what)
		if f.within != "" {
			r.write(b, indent+"  ", f.within)
		}
	}

	for names := range slices.Chunk(again, 6) {
		fmt.Fprintf(b, "%s- as above: %s\n", indent, strings.Join(names, ", "))
	}
}

// jsonKind returns the JSON type of a field, and the name of the struct in it, if it is one.
func jsonKind(e ast.Expr) (kind, within string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return jsonKind(e.X)
	case *ast.IndexExpr: // model.Opt[T]
		return jsonKind(e.Index)
	case *ast.ArrayType:
		return jsonKind(e.Elt)
	case *ast.MapType:
		return "object", ""
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "MessageJSON", "RawMessage":
			return "message", ""
		}
		return "text", "" // a kind, an id, a fingerprint
	case *ast.Ident:
		switch e.Name {
		case "bool":
			return "boolean", ""
		case "int", "int64", "uint8", "float64":
			return "number", ""
		case "string", "Text", "Framework":
			return "text", ""
		}

		return "object", e.Name
	}

	return "object", ""
}

// A command's man page and its help agree on its words, flags and examples.
func TestManualAndHelpAgree(t *testing.T) {
	program := wholeProgram()
	commands := program.Commands()
	pages := must.Get(manual.Pages(wholeProgram().Commands(), ".", manual.Release{Version: "v1.0.0"}))(t)
	for i, c := range commands {
		var help bytes.Buffer
		program.Out = &help
		_, path, _ := strings.Cut(strings.TrimSuffix(pages[i].Name, ".1"), "-")
		args := append(strings.FieldsFunc(path, func(r rune) bool { return r == '-' }), "--help")
		assert.Equal(t, program.Run(t.Context(), args), cli.ExitDone, "%s: exit status", args)
		said := []string{c.Short}
		if c.Long != "" {
			said = strings.Fields(c.Long)
		}

		for example := range strings.Lines(c.Example) {
			said = append(said, strings.TrimSpace(example))
		}

		for _, f := range flagsOf(c) {
			_, usage := pflag.UnquoteUsage(f)
			said = append(said, "--"+f.Name, usage)
			if f.Shorthand != "" {
				said = append(said, "-"+f.Shorthand)
			}
		}

		page := unescaped(pages[i].Text)
		for _, words := range said {
			assert.That(t, strings.Contains(help.String(), words), "the help of %s does not say %q", c.Use, words)
			words = strings.ReplaceAll(words, "`", "") // the page has it in bold
			assert.That(t, strings.Contains(page, words), "the man page of %s does not say %q", c.Use, words)
		}
	}

	assert.That(t, len(pages) == len(commands)+2, "%d pages of %d commands", len(pages), len(commands))
	for _, p := range pages {
		_, text, _ := strings.Cut(p.Text, "\n") // the first line may say that it has tables: '\" t
		for line := range strings.Lines(text) {
			assert.That(t, !strings.HasPrefix(line, "'"), "%s: %q", p.Name, line)
			assert.That(t, !strings.Contains(line, "`") || p.Name != "dlxtop-expressions.7", "%s: %q", p.Name, line)
		}
	}
}

// unescaped returns what a reader of roff sees.
func unescaped(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\-`, "-", `\&`, "", `\fB`, "", `\fR`, "", `\fP`, "", `\fI`, "").Replace(text)
}

// asksByHTTP are the files that send requests, with the reason why their client follows no redirect: net/http does, and
// sends the password to the new address.
var asksByHTTP = map[string]string{
	"mgmt/client.go":       "bound makes an error of a redirect",
	"mgmt/destroyed.go":    "bound, too; and it sends no password",
	"demo/await.go":        "CheckRedirect ends with the first one",
	"cli/observe/watch.go": "CheckRedirect ends with the first one",
}

func TestNoRedirectIsFollowed(t *testing.T) {
	client := regexp.MustCompile(`http\.(Client\{|Default|Get\(|Head\(|Post)`)
	for _, file := range spokenFiles() {
		text := must.Get(os.ReadFile(file.path))(t)
		assert.Equal(t, client.Match(text), asksByHTTP[file.path] != "", "%s sends requests", file.path)
	}
}

// What takes a format and its values speaks to people: model.Sayf makes names in it printable, and spells numbers.
func TestFormatsAreSaid(t *testing.T) {
	plain := regexp.MustCompile(`fmt\.(Sprint|Error)f\(.*\w\.\.\.\)`)
	for _, file := range spokenFiles() {
		text := must.Get(os.ReadFile(file.path))(t)
		found := plain.Find(text)
		assert.That(t, found == nil || file.path == "model/words.go", "%s has %s", file.path, found)
	}
}

// spoken are the packages with text that users read.
var spoken = []string{".", "model", "broker", "mgmt", "journal", "export", "ui", "cli", "demo"}

// TestSentences writes all text that dlxtop shows to a file, to be read in one sitting: `make words` sets it.
func TestSentences(t *testing.T) {
	var all strings.Builder
	for _, file := range spokenFiles() {
		sentences := sentencesOf(file.File)
		if len(sentences) > 0 {
			fmt.Fprintf(&all, "# %s\n%s\n\n", file.path, strings.Join(sentences, "\n"))
		}
	}

	must.That(t, all.Len() > 0, "no sentence was found")
	all.Write(must.Get(os.ReadFile(troubles))(t))
	if to := os.Getenv("DLXTOP_WORDS"); to != "" {
		must.Do(t, os.WriteFile(to, []byte(all.String()), 0o644))
	}
}

// spokenFiles returns the files of the packages in spoken, without tests.
func spokenFiles() []goFile {
	return slices.DeleteFunc(slices.Clone(goFiles), func(file goFile) bool {
		room, _, inRoom := strings.Cut(file.path, "/")
		if !inRoom {
			room = "."
		}
		return file.isTest || !slices.Contains(spoken, room) || strings.HasPrefix(file.path, "model/build/")
	})
}

// sentencesOf returns the texts of two words or more in a file, sorted and without duplicates.
func sentencesOf(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag is not shown
			return n.Tag == nil
		case *ast.CallExpr:
			return !compilesPattern(n)
		case *ast.BinaryExpr, *ast.BasicLit:
			text, literal := joined(n.(ast.Expr))
			if literal && isSentence(text) {
				found = append(found, strconv.Quote(text)[1:len(strconv.Quote(text))-1])
			}
			return !literal
		}

		return true
	})

	slices.Sort(found)

	return slices.Compact(found)
}

// compilesPattern reports whether a call compiles a pattern, which is not for people.
func compilesPattern(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == "regexp"
}

// joined returns a text that may be concatenated from several, with … for each value between them.
func joined(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "…", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "…", false
		}
		left, ok := joined(e.X)
		right, also := joined(e.Y)
		return left + right, ok || also
	}

	return "…", false
}

// forMachines matches texts that no person reads: SQL statements, JSON, shell scripts, configuration files.
var forMachines = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|DROP|BEGIN|WITH|r\.id|HEAD /` +
	`|kill -|read -r|trap |RABBITMQ_|listeners\.|cluster_formation\.|\{|\[[\{"])`)

// word matches a word; a sentence has at least two of them, not counting those that fmt inserts.
var word = regexp.MustCompile(`\pL[\pL'’]+`)

// isSentence reports whether a text is for people: two words or more with a space between them.
func isSentence(text string) bool {
	return !forMachines.MatchString(text) && strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace) &&
		len(word.FindAllString(text, 2)) == 2
}
