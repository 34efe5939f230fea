package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/docs"
)

// pageWidth is the width of a page of text, in characters.
const pageWidth = 100

func (p *Program) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "What a finding means and what to do about it; without a code, all findings in a line each",
		GroupID: toLook,
		Example: "dlxtop explain rejects-lost\ndlxtop explain",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("explain takes one code, not also %v", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) (codes []string, _ cobra.ShellCompDirective) {
			for _, f := range docs.Findings() {
				codes = append(codes, f.Code+"\t"+f.Short)
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.listCodes()
			}

			page := docs.Finding(args[0], pageWidth)
			if page == nil {
				return usage("there is no finding %v: `dlxtop explain` lists them", args[0])
			}
			_, err := fmt.Fprintf(p.Out, "%s\n\n%s\n", args[0], strings.Join(page, "\n"))
			return err
		},
	}
}

func (p *Program) listCodes() error {
	all := docs.Findings()
	widest := slices.MaxFunc(all, func(a, b docs.Brief) int { return cmp.Compare(len(a.Code), len(b.Code)) })
	for _, f := range all {
		if _, err := fmt.Fprintf(p.Out, "%-*s  %s\n", len(widest.Code), f.Code, f.Short); err != nil {
			return err
		}
	}

	return nil
}
