package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command is a command as its --help describes it. docs/commands.md is generated from it.
type Command struct {
	Use      string // "dlxtop journal show ID"
	Short    string // one line
	Long     string // some lines with lists in them; "" when Short says everything
	Examples []string
	Flags    []Flag // its own; global flags are with the first command
}

// Flag is a flag of a command.
type Flag struct {
	Name    string // "--number"
	Short   string // "-n", or ""
	Takes   string // "table|json", or "" without a value
	Usage   string
	Default string // "" when off or empty
}

// Commands are the program's commands: dlxtop itself, then the others in the order of its help.
func (p *Program) Commands() []Command {
	root := p.root()
	root.InitDefaultHelpCmd()
	return append([]Command{described(root, root.Flags(), root.PersistentFlags())}, below(root)...)
}

func below(parent *cobra.Command) []Command {
	var all []Command
	for _, c := range parent.Commands() {
		all = append(all, described(c, c.LocalNonPersistentFlags()))
		all = append(all, below(c)...)
	}
	return all
}

func described(c *cobra.Command, sets ...*pflag.FlagSet) Command {
	d := Command{Use: c.Use, Short: c.Short, Long: c.Long}
	for line := range strings.Lines(c.Example) {
		d.Examples = append(d.Examples, strings.TrimSpace(line))
	}
	if c.HasParent() {
		d.Use = c.Parent().CommandPath() + " " + c.Use
	}
	for _, set := range sets {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Hidden {
				return
			}
			takes, usage := pflag.UnquoteUsage(f)
			own := Flag{Name: "--" + f.Name, Takes: takes, Usage: usage, Default: f.DefValue}
			if f.Shorthand != "" {
				own.Short = "-" + f.Shorthand
			}
			if f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "0s" || f.DefValue == "[]" {
				own.Default = ""
			}
			d.Flags = append(d.Flags, own)
		})
	}
	return d
}
