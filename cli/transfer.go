package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

func (p *Program) exportCommand(flags *connectionFlags) *cobra.Command {
	var insist bool
	cmd := &cobra.Command{
		Use:   "export QUEUE FILE",
		Short: "Write the messages of a queue to a file, one line of JSON each; they stay in the queue",
		Long: `Write every message that is in the queue to a new file (- is standard output), one line of JSON each, as import reads them and jq can.
The messages stay in the queue and in their order; what looking costs is said on standard error. The file is there under its name only when it is complete.`,
		Args:              arguments("a queue", "a file (- is standard output)"),
		ValidArgsFunction: p.completeQueue(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.open(flags)
			if err != nil {
				return err
			}
			defer s.close()
			return s.export(cmd.Context(), args[0], args[1], insist)
		},
	}
	cmd.Flags().BoolVar(&insist, "insist", false, "look in spite of a refusal that can be overridden")
	return cmd
}

func (s *session) export(ctx context.Context, queue, path string, insist bool) error {
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	ref, err := s.findQueue(ctx, t, queue)
	if err != nil {
		return err
	}
	plan := t.PlanPeek(ref, model.PeekWant{Insist: insist, ForAction: true})
	if !plan.Allowed() {
		return refused("%s", refusal(plan.Refusal, plan.Override))
	}
	s.program.say("cost of looking: %s", model.Printable(plan.Cost))
	stopped := ""
	messages := func(each func(*model.Message) error) (err error) {
		stopped, err = s.broker.Read(ctx, plan, each)
		return err
	}
	var n int
	if path == "-" {
		n, err = s.program.Files.Write(s.program.Out, messages)
	} else {
		n, err = s.program.Files.Create(path, messages)
	}
	switch {
	case errors.Is(err, model.ErrFile):
		return usage("%w", err)
	case err != nil:
		return fmt.Errorf("export %s: %w", model.Printable(ref.String()), err)
	}
	s.program.say("%s exported", model.Plural(n, "message"))
	if stopped != "" {
		s.program.say("there are more: %s", model.Printable(stopped))
		return &exit{status: ExitRefused}
	}
	return nil
}

// importing is an import as the command line asks for it.
type importing struct {
	path, to       string
	dryRun, agreed bool
	output         format
}

func (p *Program) importCommand(flags *connectionFlags) *cobra.Command {
	i := &importing{}
	cmd := &cobra.Command{
		Use:   "import FILE --to queue:NAME",
		Short: "Publish the messages of an exported file into a queue, byte for byte",
		Long: `Publish the messages of a file that export wrote into a queue, through the default exchange, with their properties, headers and bodies byte
for byte. The whole file is read first: when a line is bad, or the file was cut, nothing is imported. Without CC and BCC, which would send
them to further queues, and without a user_id that is not the connected user's.`,
		Args: arguments("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.path = args[0]
			return p.importFile(cmd.Context(), flags, i)
		},
	}
	cmd.Flags().StringVar(&i.to, "to", "", "queue:NAME")
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "read the file and say what would happen, and change nothing")
	cmd.Flags().BoolVar(&i.agreed, "yes", false, "do not ask")
	i.output.register(cmd)
	return cmd
}

func (p *Program) importFile(ctx context.Context, flags *connectionFlags, i *importing) error {
	mode, fixed, err := model.ParseTarget(i.to)
	if err != nil || mode != model.ToQueue {
		return usage("--to names the queue, as queue:NAME")
	}
	connection, err := flags.resolve(p.Env)
	switch {
	case err != nil:
		return err
	case !i.dryRun && connection.ReadOnly:
		return notAllowed("this connection is read-only: import changes the broker (--dry-run shows what it would do)")
	case !i.dryRun && !i.agreed && !isTerminal(p.In):
		return usage("import changes the broker, and there is no terminal to ask on: add --yes, or look first with --dry-run")
	}
	n := 0
	if err := p.readMessages(ctx, i.path, func(*model.Message) error { n++; return nil }); err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	ref, err := s.findQueue(ctx, t, fixed.RoutingKey)
	if err != nil {
		return err
	}
	if !i.dryRun {
		if err := s.checkJournal(ctx); err != nil {
			return err
		}
	}
	planned := plannedAction{
		plan: model.Plan{
			Operation: model.Import, From: ref, Planned: n, Recipients: []model.Recipient{{Queue: ref}},
			Warnings: t.IntakeWarnings(ref, n),
		},
		looked: look{complete: true}, output: &i.output,
	}
	if i.dryRun {
		return p.showPlan(planned)
	}
	p.announce(planned)
	if !i.agreed && n > 0 {
		if err := p.ask(ctx, question{"import", n, "into", ref, connection.Production}); err != nil {
			return err
		}
	}
	progress := p.progress()
	account, err := s.broker.Import(ctx, ref, func(each func(*model.Message) error) error { return p.readMessages(ctx, i.path, each) }, progress.show)
	progress.end()
	if err != nil {
		return err
	}
	account.Planned = max(account.Planned, n)
	return p.showAccount(planned, account)
}

// readMessages reads a file of messages. What is wrong with the file is bad usage.
func (p *Program) readMessages(ctx context.Context, path string, each func(*model.Message) error) error {
	err := p.Files.Read(ctx, path, each)
	if errors.Is(err, model.ErrFile) {
		return usage("%w", err)
	}
	return err
}
