package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
)

// The formats of -o.
const (
	asTable = "table"
	asJSON  = "json"
)

// format is the flag -o.
type format struct{ chosen string }

// String implements pflag.Value.
func (f *format) String() string { return f.chosen }

// Type is what the help calls the flag's value.
func (f *format) Type() string { return "table|json" }

// Set refuses what is no format.
func (f *format) Set(text string) error {
	if text != asTable && text != asJSON {
		return fmt.Errorf("the formats are table and json")
	}
	f.chosen = text
	return nil
}

// register adds -o to a command.
func (f *format) register(cmd *cobra.Command) {
	cmd.Flags().VarP(f, "output", "o", "table (default) or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{asTable, asJSON},
		cobra.ShellCompDirectiveNoFileComp))
}

// json reports whether the output is JSON.
func (f *format) json() bool { return f.chosen == asJSON }

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(file.Fd())
}

// dumb reports whether the terminal understands no escape sequences: editors and logs that play one say so.
func (p *Program) dumb() bool { return p.Env("TERM") == "dumb" }

// say writes one line for the person: progress, a warning, an error.
func (p *Program) say(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	// An argument may have been quoted, and only the whole of it shows where its password ends.
	for _, given := range p.given {
		if shown := config.WithoutPassword(given); shown != given {
			text = strings.NewReplacer(model.Printable(given), model.Printable(shown), strconv.Quote(given),
				strconv.Quote(shown),
				model.Printable(strconv.Quote(given)), model.Printable(strconv.Quote(shown))).Replace(text)
		}
	}
	fmt.Fprintln(p.Err, config.WithoutPasswords(text))
}

// writeJSON writes one indented object. What a terminal would act on or hide is escaped, so that a message cannot do
// anything to the terminal of a person who looks at it; to a JSON reader it is the same.
func writeJSON(out io.Writer, v any) error {
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := out.Write(model.EscapeJSON(plain.Bytes()))
	return err
}

// grid is a table for people. Its cells are printable already.
type grid struct {
	rows   [][]string
	right  []bool // columns of numbers
	widths []int
	open   bool // its rows come one by one: what is wider than its column is not cut
}

func (g *grid) add(cells ...string) {
	g.rows = append(g.rows, cells)
	g.measure(cells)
}

// measure makes room for a row.
func (g *grid) measure(cells []string) {
	for i, cell := range cells {
		if i == len(g.widths) {
			g.widths = append(g.widths, 0)
		}
		g.widths[i] = max(g.widths[i], ansi.StringWidthWc(cell))
	}
}

// leastColumn is how narrow a column of texts may become, so that a table fits into a terminal.
const leastColumn = 8

// fit makes the widest columns of texts narrower until a table fits into the terminal that it is written to.
func (g *grid) fit(out io.Writer) {
	if !isTerminal(out) {
		return
	}
	columns, _, err := term.GetSize(out.(*os.File).Fd())
	if err != nil || columns <= 0 {
		return
	}
	excess := 2*(len(g.widths)-1) - columns
	for _, width := range g.widths {
		excess += width
	}
	for ; excess > 0; excess-- {
		widest := -1
		for i, width := range g.widths {
			text := i >= len(g.right) || !g.right[i]
			if text && width > leastColumn && (widest < 0 || width > g.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		g.widths[widest]--
	}
}

// write pads the columns by what a terminal shows of them.
func (g *grid) write(out io.Writer) error {
	g.fit(out)
	var text strings.Builder
	for _, row := range g.rows {
		text.WriteString(g.line(row...))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (g *grid) line(cells ...string) string {
	var line strings.Builder
	for i, cell := range cells {
		if !g.open {
			cell = shortened(cell, g.widths[i])
		}
		padding := strings.Repeat(" ", max(g.widths[i]-ansi.StringWidthWc(cell), 0))
		if i > 0 {
			line.WriteString("  ")
		}
		if i < len(g.right) && g.right[i] {
			line.WriteString(padding + cell)
		} else {
			line.WriteString(cell + padding)
		}
	}
	return strings.TrimRight(line.String(), " ") + "\n"
}

// shortened is at most width columns of a printable text.
func shortened(text string, width int) string {
	if ansi.StringWidthWc(text) <= width {
		return text
	}
	// x/ansi 0.11.9 cuts nothing that fits when it is counted in clusters: blanks behind it, which are cut off, prevent
	// that.
	return ansi.TruncateWc(text+strings.Repeat(" ", width+1), width, "…")
}
