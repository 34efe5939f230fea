// Package docs has the pages that dlxtop itself shows, because the repository is not where it runs: those of findings.
package docs

import (
	"embed"
	"regexp"
	"strings"
)

//go:embed findings/*.md
var findings embed.FS

// Brief is a finding in one line.
type Brief struct{ Code, Short string }

var indexRow = regexp.MustCompile(`(?m)^- \[([a-z0-9-]+)\]\(\S+\): (.+(?:\n  .+)*)$`)

// Findings returns all kinds of findings, sorted by code.
func Findings() (all []Brief) {
	index, _ := findings.ReadFile("findings/README.md") // a test reads it
	for _, row := range indexRow.FindAllStringSubmatch(string(index), -1) {
		all = append(all, Brief{row[1], plain(strings.Join(strings.Fields(row[2]), " "))})
	}
	return all
}

// Finding returns the page of a finding as plain text, in lines of at most width characters; nil when there is none.
func Finding(code string, width int) (lines []string) {
	page, err := findings.ReadFile("findings/" + code + ".md")
	if err != nil || code == "README" {
		return nil
	}
	_, text, _ := strings.Cut(string(page), "\n") // after its title
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, laidOut(block, width)...)
	}

	return lines
}

// laidOut returns a paragraph or a list.
func laidOut(block string, width int) (lines []string) {
	items := strings.Split("\n"+block, "\n- ")
	if items[0] != "" {
		lines = wrapped(items[0], "", width)
	}
	for _, item := range items[1:] {
		lines = append(lines, wrapped("- "+item, "  ", width)...)
	}

	return lines
}

var link = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)

// plain strips Markdown.
func plain(text string) string {
	return strings.NewReplacer("`", "", `\|`, "|", "**", "").Replace(link.ReplaceAllString(text, "$1"))
}

// wrapped breaks a text between words; the lines after the first begin with the indent.
func wrapped(text, indent string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(plain(text)) {
		switch {
		case line == "":
			line = word
		case len([]rune(line+" "+word)) > width:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}

	if line != "" {
		lines = append(lines, line)
	}

	return lines
}
