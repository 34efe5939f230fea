package cli

import "github.com/spf13/cobra"

// Commands returns dlxtop itself, then the other commands in the order of its help.
func (p *Program) Commands() []*cobra.Command {
	root := p.root()
	root.InitDefaultHelpCmd()
	return appendBelow([]*cobra.Command{root}, root)
}

func appendBelow(all []*cobra.Command, parent *cobra.Command) []*cobra.Command {
	for _, c := range parent.Commands() {
		all = appendBelow(append(all, c), c)
	}
	return all
}
