package cli

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
)

func (p *Program) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "The completion script of a shell: bash, zsh, fish or powershell",
		GroupID:   toSetUp,
		Example:   "source <(dlxtop completion bash)\ndlxtop completion fish > ~/.config/fish/completions/dlxtop.fish",
		Long:      "Print the completion script of a shell. For bash: source <(dlxtop completion bash)",
		Args:      arguments("a shell (bash, zsh, fish or powershell)"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.Out, true)
			case "zsh":
				return root.GenZshCompletion(p.Out)
			case "fish":
				return root.GenFishCompletion(p.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.Out)
			}
			return usage("there is no completion for %s: there is one for bash, zsh, fish and powershell",
				model.Printable(args[0]))
		},
	}
}

func (p *Program) completeQueue(flags *connectionFlags) cobra.CompletionFunc {
	return p.complete(flags, func(snapshot *model.Snapshot) (names []string) {
		for i := range snapshot.Queues {
			names = append(names, snapshot.Queues[i].Name)
		}
		return names
	})
}

// completeContext completes --context with the names in the configuration file.
func (p *Program) completeContext(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(contexts(p.Env), untypable), cobra.ShellCompDirectiveNoFileComp
}

func (p *Program) completeExchange(flags *connectionFlags) cobra.CompletionFunc {
	return p.complete(flags, func(snapshot *model.Snapshot) (names []string) {
		for i := range snapshot.Exchanges {
			names = append(names, snapshot.Exchanges[i].Name)
		}
		return names
	})
}

// complete completes the first argument with names of objects on the broker. On any error it stays silent.
func (p *Program) complete(flags *connectionFlags, names func(*model.Snapshot) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		quiet := *p
		quiet.Err = io.Discard
		s, err := quiet.open(flags)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.close()
		ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
		defer cancel()
		snapshot, err := s.source.Snapshot(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(names(snapshot), untypable), cobra.ShellCompDirectiveNoFileComp
	}
}

// untypable reports whether a name is left out of completions: a shell shows them unchanged and takes them as
// arguments, so they can neither be escaped nor begin like a flag.
func untypable(name string) bool {
	return name == "" || name[0] == '-' || model.Printable(name) != name
}
