package cli

import (
	"fmt"
	"strconv"
	"strings"

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
