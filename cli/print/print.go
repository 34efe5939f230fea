// Package print writes the output of commands for people and programs: tables that fit into terminals, and JSON without
// effects on them.
package print

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/dlxtop/dlxtop/model"
)

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(file.Fd())
}

// Secret asks for a text on a terminal that shows nothing of what is typed. If ctx ends first, the terminal shows again
// what is typed.
func Secret(ctx context.Context, in io.Reader, out io.Writer, prompt string) (string, error) {
	file, ok := in.(*os.File)
	if !ok {
		return "", errors.New("there is no terminal to ask on")
	}
	if ctx.Err() != nil { // the reader below would hide what is typed after the terminal was restored
		return "", ctx.Err()
	}

	terminal := file.Fd() // once: the reader below may outlive the file
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("the terminal cannot hide what is typed: %w", err)
	}
	fmt.Fprint(out, model.Printable(prompt)+" ")
	defer fmt.Fprintln(out)

	type typed struct {
		text []byte
		err  error
	}

	answer := make(chan typed, 1) // the reader must not wait when the answer comes too late
	go func() {
		text, err := term.ReadPassword(terminal)
		answer <- typed{text, err}
	}()

	select {
	case a := <-answer:
		return string(a.text), a.err
	case <-ctx.Done():
		_ = term.Restore(terminal, before)
		return "", ctx.Err()
	}
}

// JSON writes one indented object. Anything that a terminal would act on or hide is escaped, so that a message cannot
// affect the terminal; a JSON reader sees no difference.
func JSON(out io.Writer, v any) error {
	text, err := model.EncodeJSON(v, "", "  ")
	if err == nil {
		_, err = out.Write(append(text, '\n'))
	}
	return err
}

// JSONLine returns a value on one line, with anything that a terminal would act on escaped.
func JSONLine(v any) []byte {
	line, _ := model.JSONLine(v) // texts and numbers only
	return append(line, '\n')
}

// Table is a table for people. Its cells must be printable.
type Table struct {
	Right  []bool // columns of numbers
	Widths []int
	Open   bool // its rows come one by one: cells wider than their column are not cut
	rows   [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) {
	t.rows = append(t.rows, cells)
	t.Measure(cells)
}

// Measure makes room for a row.
func (t *Table) Measure(cells []string) {
	for i, cell := range cells {
		if i == len(t.Widths) {
			t.Widths = append(t.Widths, 0)
		}
		t.Widths[i] = max(t.Widths[i], ansi.StringWidthWc(cell))
	}
}

// leastColumn is how narrow a text column may become for a table to fit into a terminal.
const leastColumn = 8

// Fit narrows the widest text columns until a table fits into the terminal that it is written to.
func (t *Table) Fit(out io.Writer) {
	if !IsTerminal(out) {
		return
	}
	columns, _, err := term.GetSize(out.(*os.File).Fd())
	if err != nil || columns <= 0 {
		return
	}
	excess := 2*(len(t.Widths)-1) - columns
	for _, width := range t.Widths {
		excess += width
	}

	for ; excess > 0; excess-- {
		widest := -1
		for i, width := range t.Widths {
			isText := i >= len(t.Right) || !t.Right[i]
			if isText && width > leastColumn && (widest < 0 || width > t.Widths[widest]) {
				widest = i
			}
		}

		if widest < 0 {
			return
		}
		t.Widths[widest]--
	}
}

// Write pads the columns by their width on a terminal.
func (t *Table) Write(out io.Writer) error {
	t.Fit(out)
	var text strings.Builder
	for _, row := range t.rows {
		text.WriteString(t.Line(row...))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// Line returns a row as it is written.
func (t *Table) Line(cells ...string) string {
	var line strings.Builder
	for i, cell := range cells {
		if !t.Open {
			cell = Shortened(cell, t.Widths[i])
		}

		padding := strings.Repeat(" ", max(t.Widths[i]-ansi.StringWidthWc(cell), 0))
		if i > 0 {
			line.WriteString("  ")
		}

		if i < len(t.Right) && t.Right[i] {
			line.WriteString(padding + cell)
		} else {
			line.WriteString(cell + padding)
		}
	}

	return strings.TrimRight(line.String(), " ") + "\n"
}

// Shortened returns at most width columns of a printable text.
func Shortened(text string, width int) string {
	if ansi.StringWidthWc(text) <= width {
		return text
	}

	// x/ansi 0.11.9 cuts nothing that fits when counted in clusters: blanks appended, which are cut off, prevent that.
	return ansi.TruncateWc(text+strings.Repeat(" ", width+1), width, "…")
}

// Cell makes any text fit into a table.
func Cell(text string, width int) string { return Shortened(model.Printable(text), width) }
