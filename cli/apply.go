package cli

import (
	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/planned"
)

func (p *Program) showCommand() *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:     "show PLAN",
		GroupID: toAct,
		Short:   "What a plan in a file does: where its messages go, who receives them, what changes",
		Example: "dlxtop show plan.json\ndlxtop show plan.json -o json",
		Long: `What a plan does that --plan-out of replay, move or drop has written. It needs no broker. Standard output has
a line for each message: how many there are of it, and its fingerprint. Exit status 2 when the file is no plan, or was
changed after it was made.`,
		Args: arguments("a file with a plan"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := planned.Load(args[0])
			if err != nil {
				return usage("%w", err)
			}
			return planned.Show(p.report(output), file)
		},
	}

	output.register(cmd)
	return cmd
}

func (p *Program) applyCommand() *cobra.Command {
	a := &taking{}
	cmd := &cobra.Command{
		Use:     "apply PLAN",
		GroupID: toAct,
		Short:   "Do what a plan in a file says, with exactly its messages",
		Example: "dlxtop apply plan.json\ndlxtop apply plan.json --reason INC-4711 --yes",
		Long: `Do what a plan says that --plan-out of replay, move or drop has written: to exactly its messages, which it
recognizes by their fingerprints. What has come since stays; what is gone is counted. It is refused, with the
difference, when the broker is not as the plan says: another cluster, other queues that messages reach, or other
settings of the queues that they leave and reach. Exit status 1 when it was refused, or a message was refused, returned
or gone; 2 when the file is no plan, or was changed after it was made.`,
		Args: arguments("a file with a plan"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if a.file, err = planned.Load(args[0]); err != nil {
				return usage("%w", err)
			}
			a.operation = a.file.Operation
			if a.reason == "" {
				a.reason = a.file.Reason
			}
			return p.act(cmd.Context(), a)
		},
	}

	a.consent.register(cmd, "show what would happen, and change nothing", "override the cost of a look")
	p.flags.registerNoJournal(cmd)
	a.registerFollow(cmd)
	return cmd
}
