package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
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

			return usage("there is no completion for %v: there is one for bash, zsh, fish and powershell",
				args[0])
		},
	}
}

// onBroker returns names on the broker for an argument or a flag: prefix stands before each of them.
func (p *Program) onBroker(
	prefix string, names func(*model.Snapshot) []string, also ...string,
) cobra.CompletionFunc {
	return p.complete(func(_ context.Context, _ *session, snapshot *model.Snapshot, _ []string) []string {
		all := slices.Clone(also)
		for _, name := range slices.DeleteFunc(names(snapshot), untypable) {
			all = append(all, prefix+name)
		}
		return all
	})
}

func queueNames(snapshot *model.Snapshot) []string {
	return model.Mapped(snapshot.Queues, func(q *model.Queue) string { return q.Name })
}

func exchangeNames(snapshot *model.Snapshot) []string {
	return model.Mapped(snapshot.Exchanges, func(x *model.Exchange) string { return x.Name })
}

// first completes the first argument only; files complete what follows it.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return complete(cmd, args, typed)
		case cmd.Name() == "export":
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *Program) completeQueue() cobra.CompletionFunc {
	return first(p.onBroker("", queueNames))
}

func (p *Program) completeExchange() cobra.CompletionFunc {
	return first(p.onBroker("", exchangeNames))
}

// completeTarget completes --to with the queues, after the targets that are words.
func (p *Program) completeTarget(cmd *cobra.Command, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc("to", p.onBroker("queue:", queueNames, words...))
}

// completeCauses completes --cause with what was read before of the queue that is named, or of all failed queues: to
// look at a queue can have a cost.
func (p *Program) completeCauses() cobra.CompletionFunc {
	return p.complete(func(_ context.Context, s *session, snapshot *model.Snapshot, args []string) (ids []string) {
		t, groups := model.NewTopology(snapshot), cause.NewGroups()
		kept := s.kept(t)
		for _, ref := range t.FailedQueues() {
			if len(args) == 0 || args[0] == ref.Name || args[0] == ref.String() {
				kept.Recall(groups, ref, model.Unknown[int64](), time.Time{})
			}
		}

		list := groups.List()
		cause.MostFirst(list)
		for i := range list {
			words := model.Sayf("%v message(s), %s", list[i].Messages, list[i].Cause)
			ids = append(ids, choice(string(list[i].ID), words))
		}

		return ids
	})
}

// completeRecord completes the number of a record, the newest first.
func (p *Program) completeRecord(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	records := func(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
		const offered = 50
		_ = p.withJournal(func(j Journal) error {
			all, err := j.Records(cmd.Context(), offered)
			for r := range model.Each(all) {
				if cmd.Name() == "resume" && !r.Resumable() {
					continue
				}
				ids = append(ids, choice(strconv.FormatInt(r.ID, 10), r.What()+" "+r.From.String()+": "+r.ToldSince()))
			}

			return err // without records nothing is offered
		})

		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}

	return first(records)(cmd, args, typed)
}

// completeFilter completes an expression with the saved filters, as they are typed behind this prefix.
func (p *Program) completeFilter(prefix string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		file, err := config.Read(p.Env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, name := range slices.Sorted(maps.Keys(file.Filters)) {
			names = append(names, choice(prefix+filter.SavedMark+name, file.Filters[name]))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// choice returns one with what the shell shows beside it.
func choice(name, words string) string {
	const room = 100
	return name + "\t" + print.Shortened(model.Printable(words), room)
}

// completeContext completes --context with the names in the configuration file.
func (p *Program) completeContext(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(contexts(p.Env), untypable), cobra.ShellCompDirectiveNoFileComp
}

// complete completes with what a session knows. On any error it stays silent, and it never asks for a password.
func (p *Program) complete(
	choices func(context.Context, *session, *model.Snapshot, []string) []string,
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		quiet := *p
		quiet.Err, quiet.flags.Ask = io.Discard, nil
		s, err := quiet.open()
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
		return choices(ctx, s, snapshot, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// untypable reports whether a name is left out of completions: a shell shows them unchanged and takes them as
// arguments, so they can neither be escaped nor begin like a flag.
func untypable(name string) bool {
	return name == "" || name[0] == '-' || model.Printable(name) != name
}
