// Package cli is dlxtop's command line: the same engine as the dashboard, for scripts and runbooks.
//
// Only data goes to standard output; progress, warnings, questions and errors go to standard error. The exit statuses
// are ExitDone to ExitInterrupted. JSON is a contract: keys in snake_case, times in RFC 3339 with milliseconds,
// durations as integers named _ms, and unknown values left out.
//
// Everything that takes messages out of queues or publishes them is asked about, planned again from the current
// topology, run and accounted for in one place (doing.go), and shown by report. A tap is not: it asks nothing, writes
// each message as it comes and runs until it is stopped.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// The groups of commands in the help.
const toLook, toAct, toUndo, toSetUp = "look", "act", "undo", "set up"

// Run runs one command line and returns the exit status. ctx ends when the program is interrupted.
func (p *Program) Run(ctx context.Context, args []string) int {
	p.given = args
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)

	told := model.TellWaits(ctx, func(other *model.InUse) {
		if other != nil {
			p.note("waits: %s", other.Words())
		}
	})

	status, words := statusOf(ctx, root.ExecuteContext(told))
	if words != "" {
		p.note("dlxtop: %s", words)
	}
	if status == ExitDone && p.uncopied {
		return ExitRefused
	}

	return status
}

// root returns the dashboard's command, with the others as its subcommands.
func (p *Program) root() *cobra.Command {
	p.flags = connectionFlags{}
	var look appearance
	var shot snapshot
	var version bool
	root := &cobra.Command{
		Use:   "dlxtop",
		Short: "A dashboard for the delayed, retry and failed queues of RabbitMQ",
		Long: `dlxtop shows every flow of RabbitMQ from its buffers through the dead-letter exchange to its worker:
what waits, when it moves, what failed and why. Without a command it opens the dashboard; the
commands do the same for scripts.

Where the broker is, the first of these that is there: --url or --api, --context, DLXTOP_URL or
DLXTOP_API, DLXTOP_CONTEXT, AMQP_URL, RABBITMQ_URL, this machine. A URL without a vhost means every
vhost that the user sees; the vhost / is written %2f. For a URL with a user and without a password
dlxtop asks for it on the terminal.

Exit status: 0 done; 1 done, but something was refused, returned, held by others or unknown, or
there is an error-level finding; 2 bad usage or configuration; 3 cannot connect or not allowed;
130 interrupted.`,
		Example: "dlxtop demo\n" +
			"dlxtop --url amqp://guest:guest@localhost:5672 --read-only",
		Args:          p.noSuchCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return p.printVersion(format{})
			}
			frame, err := shot.frame()
			if err != nil {
				return err
			}
			return p.dashboard(cmd.Context(), look, frame)
		},
	}

	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		p.command = cmd.CommandPath()
		if print.IsTerminal(p.In) {
			p.flags.Ask = func(prompt string) (string, error) { return print.Secret(cmd.Context(), p.In, p.Err, prompt) }
		}
	}

	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v: `%s --help` lists the flags; a name that begins with - comes after --",
			err.Error(), cmd.CommandPath())
	})
	p.flags.register(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("context", p.completeContext)
	p.flags.registerNoJournal(root)
	look.register(root, p)
	shot.register(root)
	root.Flags().BoolVar(&version, "version", false, "print the version, as dlxtop version does")

	for _, group := range []string{toLook, toAct, toUndo, toSetUp} {
		root.AddGroup(&cobra.Group{ID: group, Title: strings.ToUpper(group[:1]) + group[1:] + ":"})
	}

	root.AddCommand(p.flowsCommand(), p.causesCommand(), p.findCommand(), p.peekCommand(),
		p.actCommand(plan.Replay), p.actCommand(plan.Move), p.actCommand(plan.Drop),
		p.showCommand(), p.applyCommand(),
		p.findingsCommand(), p.explainCommand(), p.journalCommand(), p.exportCommand(),
		p.importCommand(), p.tapCommand(), p.mcpCommand(), p.demoCommand(), p.configCommand(),
		p.versionCommand(), p.completionCommand())
	root.AddCommand(p.observed().Commands()...)

	for _, sub := range root.Commands() {
		sub.SuggestFor = strings.Fields(otherNames[sub.Name()])
	}

	root.SetHelpCommand(&cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "What a command does",
		GroupID: toSetUp,
		Example: "dlxtop help replay\ndlxtop help journal undo",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return p.noSuchCommand(root, rest)
			}
			return found.Help()
		},
	})

	indentExamples(root)

	return root
}

// indentExamples indents examples like cobra's commands and flags.
func indentExamples(c *cobra.Command) {
	if c.Example != "" {
		c.Example = "  " + strings.ReplaceAll(c.Example, "\n", "\n  ")
	}
	for _, sub := range c.Commands() {
		indentExamples(sub)
	}
}

// otherNames are what other tools call a command.
var otherNames = map[string]string{
	"causes": "failed failures errors",
	"flows":  "queues list ls status",
	"peek":   "get browse messages",
	"replay": "retry requeue redrive republish",
	"move":   "shovel",
	"drop":   "delete purge discard rm",
}

// noSuchCommand explains a word in place of a command that does not exist.
func (p *Program) noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := fmt.Sprintf("`%s --help` lists the commands", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = max(1, len(args[0])/3)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	if strings.Contains(args[0], "://") {
		hint = "the address of a broker is the value of --url or --api"
	}

	return usage("there is no command %v: %s", args[0], hint)
}

// arguments is cobra's check of the number of arguments, in words.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s needs %s: `%s --help` says more", cmd.CommandPath(), names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return usage("%s does not take %v: `%s --help` says more", cmd.CommandPath(),
				args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}

// dashboard checks the connection while errors are still visible, then hands the terminal over, or writes a frame.
func (p *Program) dashboard(
	ctx context.Context, look appearance, frame *dashboard.Frame,
) error {
	look, err := look.resolve(p)
	if err != nil {
		return err
	}
	if frame == nil {
		if err := p.needTerminal(); err != nil {
			return err
		}
	}

	connection, err := p.flags.resolve(p.Env)
	if err != nil {
		return err
	}
	s, err := p.openChecked(ctx, connection)
	if err != nil && frame == nil && connection.Guessed {
		s, err = p.firstStart(ctx, look, err)
	}
	if err != nil {
		return err
	}
	if frame != nil {
		defer s.close()
		return p.Frame(ctx, s.dashboard(look), *frame)
	}

	return p.dashboards(ctx, s, look)
}

// needTerminal refuses the dashboard without a terminal to see it and press keys.
func (p *Program) needTerminal() error {
	switch {
	case !print.IsTerminal(p.In) || !print.IsTerminal(p.Out):
	case p.dumb():
		return usage("the dashboard moves the cursor, and this terminal cannot (TERM=dumb): set TERM to what it is, " +
			"or use the commands (see `dlxtop --help`)")
	default:
		return nil
	}

	return usage("the dashboard needs a terminal: for scripts there are flows, causes, find, peek, replay, move, drop, " +
		"findings, journal, export, import and tap (see `dlxtop --help`)")
}

// The exit statuses.
const (
	ExitDone        = 0   // everything was done
	ExitRefused     = 1   // something was refused, returned, gone, held or unknown, or there is an error-level finding
	ExitUsage       = 2   // wrong usage or configuration
	ExitConnect     = 3   // cannot connect, or not allowed
	ExitInterrupted = 130 // by a signal
	ExitPipe        = 141 // the reader of the output is gone
)

// exit is an error with the program's exit status. Without a cause everything was already said.
type exit struct {
	status int
	cause  error
}

// Error implements error.
func (e *exit) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.cause.Error()
}

// Unwrap is for errors.Is and errors.As.
func (e *exit) Unwrap() error { return e.cause }

// usage returns a mistake in the usage or the configuration, in one sentence.
func usage(format string, values ...any) error {
	return &exit{ExitUsage, model.Errorf(format, values...)}
}

// refused returns why dlxtop refuses something, in one sentence.
func refused(format string, values ...any) error {
	return &exit{ExitRefused, model.Errorf(format, values...)}
}

// notAllowed returns why this connection may not do something, in one sentence.
func notAllowed(format string, values ...any) error {
	return &exit{ExitConnect, model.Errorf(format, values...)}
}

// statusOf returns the exit status of an error, and what is left to say about it ("" for nothing).
func statusOf(ctx context.Context, err error) (int, string) {
	var own *exit
	var connect *trouble.Error
	switch {
	case errors.As(err, &own) && own.status == ExitDone:
		return ExitDone, ""
	case errors.Is(err, syscall.EPIPE): // like any program: `| head` has seen enough
		return ExitPipe, ""
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		return ExitInterrupted, "interrupted"
	case ctx.Err() != nil && errors.As(err, &own) && own.cause == nil:
		return ExitInterrupted, ""
	case ctx.Err() != nil:
		return ExitInterrupted, err.Error()
	case err == nil:
		return ExitDone, ""
	case errors.As(err, &own) && own.cause == nil:
		return own.status, ""
	case errors.As(err, &own):
		return own.status, err.Error()
	case errors.As(err, &connect):
		return ExitConnect, err.Error()
	case errors.Is(err, plan.ErrNoRecord):
		return ExitUsage, err.Error() // for example a queue that does not exist
	}

	return ExitRefused, err.Error()
}
