// Package manual makes man pages: for commands by cobra, and for pages of docs.
package manual

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Release is what man pages say about the program's version.
type Release struct {
	Version string
	Date    time.Time
}

// Page is a man page as roff.
type Page struct{ Name, Text string } // Name: "dlxtop-peek.1"

var (
	links = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`) // they lead to other pages of docs
	// indentedLines are printed unchanged by --help, and by Markdown with two more spaces between empty lines.
	indentedLines = regexp.MustCompile(`(?m)\n((?:^  .*\n?)+)`)
)

// Pages returns all man pages. root is the repository, for docs.
func Pages(commands []*cobra.Command, root string, r Release) (all []Page, err error) {
	header := doc.GenManHeader{Date: &r.Date, Source: "dlxtop " + r.Version, Manual: "dlxtop manual"}
	for _, c := range commands {
		c.Long = indentedLines.ReplaceAllStringFunc(strings.ReplaceAll(c.Long, `\`, `\\`), func(lines string) string {
			return "\n" + strings.ReplaceAll(lines, "\n  ", "\n    ") + "\n"
		})
		c.DisableAutoGenTag = true

		of := header
		var b bytes.Buffer
		if err := doc.GenMan(c, &of, &b); err != nil {
			return nil, err
		}
		all = append(all, Page{strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1", b.String()})
	}

	for _, p := range []struct{ file, name, section, short string }{
		{"configuration.md", "dlxtop-config", "5", "contexts, theme, filters and actions of dlxtop"},
		{"expressions.md", "dlxtop-expressions", "7", "expressions that choose messages in dlxtop"},
	} {
		text, err := os.ReadFile(filepath.Join(root, "docs", p.file))
		if err != nil {
			return nil, err
		}
		_, text, _ = bytes.Cut(text, []byte("\n")) // after its title
		page := fmt.Sprintf("%% %q %q %q %q %q\n# NAME\n%s \\- %s\n\n# DESCRIPTION\n%s\n# SEE ALSO\ndlxtop(1)\n",
			strings.ToUpper(p.name), p.section, r.Date.Format(time.DateOnly), header.Source, header.Manual, p.name, p.short,
			links.ReplaceAll(text, []byte("$1")))
		all = append(all, Page{p.name + "." + p.section, string(md2man.Render([]byte(page)))})
	}

	return all, nil
}
