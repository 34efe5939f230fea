package rules_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manual"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Each command's man page and its help say the same: its words, flags and examples.
func TestManualAndHelpAgree(t *testing.T) {
	program := wholeProgram()
	commands := program.Commands()
	pages := must.Get(manual.Pages(commands, ".", manual.Release{Version: "v1.0.0"}))(t)
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
		said = append(said, c.Examples...)
		for _, f := range c.Flags {
			said = append(said, f.Name, f.Short, f.Usage)
		}
		for in, text := range map[string]string{"man page": unescaped(pages[i].Text), "help": help.String()} {
			for _, words := range said {
				assert.That(t, strings.Contains(text, words), "the %s of %s does not say %q", in, c.Use, words)
			}
		}
	}
	assert.That(t, len(pages) == len(commands)+2, "%d pages of %d commands", len(pages), len(commands))
	for _, p := range pages {
		for line := range strings.Lines(p.Text) {
			assert.That(t, !strings.HasPrefix(line, "'") && (!strings.Contains(line, "`") || p.Name != "dlxtop-expressions.7"),
				"%s: %q", p.Name, line)
		}
	}
}

// unescaped is what a reader of roff sees.
func unescaped(text string) string {
	return strings.NewReplacer(`\e`, `\`, `\-`, "-", `\(ti`, "~", `\(ha`, "^", `\(aq`, "'", `\&`, "", `\fB`, "", `\fR`, "",
		`\fI`, "").Replace(text)
}
