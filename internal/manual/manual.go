// Package manual makes man pages: for commands from the source of their --help, and for pages of docs.
package manual

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/cli"
)

// Release is what man pages say about the program's version.
type Release struct {
	Version string
	Date    time.Time
}

// Page is a man page as roff.
type Page struct{ Name, Text string } // Name: "dlxtop-peek.1"

// Pages returns all man pages. root is the repository, for docs.
func Pages(commands []cli.Command, root string, r Release) (all []Page, err error) {
	var others []string
	for _, c := range commands {
		others = append(others, nameOf(c)+"(1)")
	}
	others = append(others, "dlxtop-config(5)", "dlxtop-expressions(7)")
	for _, c := range commands {
		all = append(all, Page{nameOf(c) + ".1", r.command(c, others)})
	}
	for _, p := range []struct{ file, name, section, short string }{
		{"configuration.md", "dlxtop-config", "5", "contexts, theme, filters, actions and protobuf types of dlxtop"},
		{"expressions.md", "dlxtop-expressions", "7", "expressions that choose messages in dlxtop"},
	} {
		page, err := os.ReadFile(filepath.Join(root, "docs", p.file))
		if err != nil {
			return nil, err
		}
		_, text, _ := strings.Cut(string(page), "\n") // after its title
		var b roff
		b.head(p.name, p.section, p.short, r)
		b.section("Description")
		b.markdown(text)
		b.section("See also")
		b.line("dlxtop(1)")
		all = append(all, Page{p.name + "." + p.section, b.String()})
	}
	return all, nil
}

// nameOf returns the name of a command's page: its words without arguments.
func nameOf(c cli.Command) string {
	var words []string
	for _, word := range strings.Fields(c.Use) {
		if strings.ToLower(word) != word || strings.HasPrefix(word, "-") || strings.HasPrefix(word, "[") {
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, "-")
}

func (r Release) command(c cli.Command, others []string) string {
	var b roff
	name := nameOf(c)
	b.head(name, "1", c.Short, r)
	b.section("Synopsis")
	b.line(escaped(c.Use) + " [\\fIflags\\fR]")
	b.section("Description")
	b.help(cmp.Or(c.Long, c.Short+"."))
	b.section("Options")
	for _, f := range c.Flags {
		flag := strong(f.Name)
		if f.Short != "" {
			flag = strong(f.Short) + ", " + flag
		}
		if f.Takes != "" {
			flag += " \\fI" + escaped(f.Takes) + "\\fR"
		}
		usage := f.Usage
		if f.Default != "" {
			usage += " (default: " + f.Default + ")"
		}
		b.item(flag, escaped(usage))
	}
	if name != "dlxtop" {
		b.line(".PP")
		b.line("The flags of all commands are in dlxtop(1).")
	}
	b.section("Examples")
	b.verbatim(c.Examples)
	b.section("See also")
	var see []string
	for _, other := range others {
		if other != name+"(1)" && (name == "dlxtop" || !strings.Contains(other, "(1)") || other == "dlxtop(1)") {
			see = append(see, escaped(other))
		}
	}
	b.line(strings.Join(see, ",\n"))
	return b.String()
}

func (b *roff) head(name, section, short string, r Release) {
	date := ""
	if !r.Date.IsZero() {
		date = r.Date.UTC().Format(time.DateOnly)
	}
	b.line(fmt.Sprintf(`.TH %s %s "%s" "%s" "dlxtop manual"`, strings.ToUpper(escaped(name)), section, date,
		strings.TrimSpace("dlxtop "+r.Version)))
	b.line(".nh\n.ad l")
	b.section("Name")
	b.line(escaped(name) + " \\- " + escaped(strings.TrimSuffix(short, ".")))
}

type roff struct{ strings.Builder }

func (b *roff) line(text string) { b.WriteString(text + "\n") }

func (b *roff) section(title string) { b.line(".SH " + strings.ToUpper(title)) }

func (b *roff) item(head, text string) { b.line(".TP\n" + head + "\n" + text) }

func (b *roff) verbatim(lines []string) {
	b.line(".PP\n.RS 4\n.EX")
	for _, line := range lines {
		b.line(escaped(line))
	}
	b.line(".EE\n.RE")
}

// help writes the text of a help: paragraphs, and indented text unchanged.
func (b *roff) help(text string) {
	for _, paragraph := range strings.Split(text, "\n\n") {
		b.line(".PP")
		var lines []string
		flush := func() {
			if len(lines) > 0 {
				b.verbatim(lines)
				b.line(".PP")
			}
			lines = nil
		}
		for _, line := range strings.Split(paragraph, "\n") {
			if indented, ok := strings.CutPrefix(line, "  "); ok {
				lines = append(lines, indented)
				continue
			}
			flush()
			b.line(escaped(line))
		}
		flush()
	}
}

// markdown writes a page of docs: headings, paragraphs, lists, tables and fenced code.
func (b *roff) markdown(text string) {
	var code []string
	fenced, begun, row := false, false, 0
	for _, line := range strings.Split(text, "\n") {
		row++
		if !strings.HasPrefix(line, "|") {
			row = 0
		}
		switch {
		case strings.HasPrefix(line, "```"):
			if fenced {
				b.verbatim(code)
			}
			fenced, code, begun = !fenced, nil, false
		case fenced:
			code = append(code, line)
		case strings.HasPrefix(line, "<!--"), strings.HasPrefix(line, "!["), line == "":
			begun = false
		case strings.HasPrefix(line, "### "):
			b.line(".SS " + inline(line[4:]))
		case strings.HasPrefix(line, "## "):
			b.section(inline(line[3:]))
		case row > 2:
			head, rest, _ := strings.Cut(strings.Trim(line, "| "), " | ")
			b.item(inline(head), inline(strings.ReplaceAll(rest, " | ", "; ")))
		case row > 0: // below a table's head
		case strings.HasPrefix(line, "- "):
			b.line(".IP \\(bu 2\n" + inline(line[2:]))
			begun = true
		default:
			if !begun {
				b.line(".PP")
			}
			begun = true
			b.line(inline(strings.TrimSpace(line)))
		}
	}
}

var (
	link = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)
	code = regexp.MustCompile("`+ ?([^`]+?) ?`+|\\*\\*([^*]+)\\*\\*")
)

// inline renders the code and the bold text in a text of Markdown as bold.
func inline(text string) string {
	text = strings.ReplaceAll(link.ReplaceAllString(text, "$1"), `\|`, "|")
	return code.ReplaceAllString(escaped(text), `\fB$1$2\fR`)
}

func strong(text string) string { return `\fB` + escaped(text) + `\fR` }

// escaped escapes a text so that roff prints it unchanged.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "'", `\(aq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
