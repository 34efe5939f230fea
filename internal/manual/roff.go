package manual

import (
	"regexp"
	"strings"
)

// roff is a man page that is being written, in the macros of man(7).
type roff struct{ strings.Builder }

func (b *roff) line(text string) { b.WriteString(text + "\n") }

func (b *roff) section(title string) { b.line(".SH " + strings.ToUpper(title)) }

func (b *roff) item(head, text string) { b.line(".TP\n" + head + "\n" + text) }

// verbatim are lines as they are.
func (b *roff) verbatim(lines []string) {
	b.line(".PP\n.RS 4\n.EX")
	for _, line := range lines {
		b.line(escaped(line))
	}
	b.line(".EE\n.RE")
}

// help is the text of a help: paragraphs; what is indented is as it is.
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

// markdown is a page of docs: headings, paragraphs, lists, tables, and what is between fences.
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
		case row > 0: // a table's head
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

// inline is a text of Markdown with what is in it in bold.
func inline(text string) string {
	text = strings.ReplaceAll(link.ReplaceAllString(text, "$1"), `\|`, "|")
	return code.ReplaceAllString(escaped(text), `\fB$1$2\fR`)
}

func strong(text string) string { return `\fB` + escaped(text) + `\fR` }

// escaped is a text that roff takes as it is.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "'", `\(aq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
