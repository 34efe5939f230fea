package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/trouble"
)

func (s *session) dashboard(look appearance) Dashboard {
	return Dashboard{
		Appearance: look.Appearance,
		Connection: s.connection,
		Source:     s.source,
		Broker:     s.broker,
		Journal:    s.journal,
	}
}

// dashboards runs the dashboard on a session, and on those of contexts that the user switches to. It closes them. If a
// context cannot be opened the dashboard continues with the previous session, and says why.
func (p *Program) dashboards(ctx context.Context, s *session, look appearance) error {
	defer func() { s.close() }()
	still := ""
	for {
		d := s.dashboard(look)
		d.Contexts, d.Trouble = contexts(p.Env), still
		next, err := p.Dashboard(ctx, d)
		if err != nil || next == "" || ctx.Err() != nil {
			return err
		}
		line := p.progress()
		line.Draw("connecting to " + model.Printable(next))
		other, err := p.openContext(ctx, next)
		line.Stop()

		if ctx.Err() != nil {
			if other != nil {
				other.close()
			}
			return ctx.Err()
		}

		if err != nil {
			still = "still " + s.connection.Name + ", not " + next + ": " + err.Error()
			continue
		}

		s.close()
		s, still = other, ""
	}
}

// contexts returns the names in the configuration file; none when it cannot be read.
func contexts(env func(string) string) []string {
	file, err := config.Read(env)
	if err != nil {
		return nil
	}
	return file.Contexts()
}

// openContext opens a session on a context, as cautious as the command line asked for.
func (p *Program) openContext(ctx context.Context, name string) (*session, error) {
	there := config.Flags{Context: name, ReadOnly: p.flags.ReadOnly, NoJournal: p.flags.NoJournal, Ask: p.flags.Ask}
	connection, err := there.Connection(p.Env)
	if err != nil {
		return nil, misconfigured(err)
	}
	return p.openChecked(ctx, connection)
}

// openChecked opens a session, and proves that AMQP and the management API work.
func (p *Program) openChecked(ctx context.Context, connection config.Connection) (*session, error) {
	s, err := p.openConnection(connection)
	if err != nil {
		return nil, err
	}
	if err := s.check(ctx); err != nil {
		s.close()
		return nil, err
	}

	return s, nil
}

// appearance is how the dashboard looks, by the flags and the configuration file.
type appearance struct{ dashboard.Appearance }

// register adds --theme and --plain to a command that opens the dashboard.
func (a *appearance) register(cmd *cobra.Command, p *Program) {
	cmd.Flags().StringVar(&a.Theme, "theme", "", "colours of the dashboard: the theme `NAME`, one of "+
		strings.Join(p.Themes, ", ")+", or of a file in the folder themes (default: theme of the configuration file)")
	cmd.Flags().BoolVar(&a.Plain, "plain", false, "for a screen reader: lines of words without boxes, pictures and "+
		"colours, of which only those that change are written (default: plain of the configuration file)")

	_ = cmd.RegisterFlagCompletionFunc("theme", func(*cobra.Command, []string, string) (
		[]string, cobra.ShellCompDirective,
	) {
		own, _ := config.Themes(p.Env, p.CheckTheme)
		return p.ThemeNames(own), cobra.ShellCompDirectiveNoFileComp
	})
}

// resolve completes the flags with the configuration file, if there is one.
func (a appearance) resolve(p *Program) (appearance, error) {
	var err error
	a.Appearance, err = p.Screens.Appearance(p.Env, a.Appearance)
	return a, misconfigured(err)
}

// misconfigured returns an error of the configuration, on one line.
func misconfigured(err error) error {
	if err == nil {
		return nil
	}
	return usage("%s", oneLine(err))
}

// The allowed sizes of a frame's terminal.
const (
	leastColumns, mostColumns = 80, 500
	leastRows, mostRows       = 24, 500
)

type snapshot struct{ path, screen, size string }

func (s *snapshot) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&s.path, "snapshot", "",
		"write one frame of the dashboard into the new `FILE` and end: as text; FILE.ansi has the colours")
	set.StringVar(&s.screen, "screen", "",
		"the screen of --snapshot, as the `COMMAND` that opens it behind ':' (failed, 'flow orders'; default: flows)")
	set.StringVar(&s.size, "size", "", "columns and rows of --snapshot, as `COLUMNSxROWS` (default: 120x36)")
}

// frame returns the requested frame; nil for the dashboard itself.
func (s *snapshot) frame() (*dashboard.Frame, error) {
	f := &dashboard.Frame{Path: s.path, Open: s.screen, Width: 120, Height: 36}
	switch {
	case s.path == "" && s.screen == "" && s.size == "":
		return nil, nil
	case s.path == "":
		return nil, usage("--screen and --size say what --snapshot FILE writes: add it")
	case s.size == "":
		return f, nil
	}

	var rest string
	n, _ := fmt.Sscanf(s.size+" ", "%dx%d%s", &f.Width, &f.Height, &rest)
	if n != 2 || f.Width < leastColumns || f.Width > mostColumns || f.Height < leastRows || f.Height > mostRows {
		return nil, usage("--size %v: it is COLUMNSxROWS, from %dx%d to %dx%d", s.size,
			leastColumns, leastRows, mostColumns, mostRows)
	}

	return f, nil
}

// The questions of a first start, in this order.
const (
	askHost = iota
	askUser
	askPassword
	askAPI
	askName
)

// firstStart asks which broker to use when none was named, none is saved, and the one on this machine was not reached
// for this reason. It saves the answers as a context, and opens that.
func (p *Program) firstStart(
	ctx context.Context, look appearance, why error,
) (*session, error) {
	var connect *trouble.Error
	if !errors.As(why, &connect) {
		return nil, why
	}
	if there := contexts(p.Env); len(there) > 0 {
		p.note("`dlxtop --context NAME` opens one that is saved: %v", strings.Join(there, ", "))
		return nil, why
	}

	saved := ""
	err := p.Ask(ctx, dashboard.Form{
		Appearance: look.Appearance, Title: "Which RabbitMQ?", Secret: askPassword,
		Why: strings.ToUpper(connect.Cause[:1]) + connect.Cause[1:] +
			". What you answer is tried at once, and saved as a context. `dlxtop demo` needs no broker.",
		Names: []string{"host", "user", "password", "API", "save as"},
		Texts: []string{"localhost:5672", "guest", "guest", "", "main"},
		Notes: []string{
			"host:port of AMQP; amqps://host is with TLS, host/vhost only one vhost", "as which dlxtop looks and acts",
			"never shown; it is written into the configuration file, which only you can read",
			"URL of the management API, which rabbitmq-plugins enable rabbitmq_management starts; empty: port 15672 of " +
				"the host, 15671 with TLS",
			"the name of the context: dlxtop --context NAME opens it again",
		},
		Try: func(ctx context.Context, texts []string, at int) (failed int, err error) {
			answers := config.Answers{
				Host: texts[askHost], User: texts[askUser], Password: texts[askPassword], Name: texts[askName],
			}
			if at >= askAPI {
				answers.API = texts[askAPI]
			}

			if failed, err := p.try(ctx, answers, at); err != nil {
				var connect *trouble.Error
				if errors.As(err, &connect) { // the next step is another answer
					err = errors.New(connect.Cause)
				}
				return failed, err
			}

			if at == askName {
				if err := answers.Save(p.Env); err != nil {
					return askName, err
				}
				saved = answers.Name
			}

			return 0, nil
		},
	})

	switch {
	case err != nil:
		return nil, err
	case saved == "":
		return nil, why
	}

	return p.openContext(ctx, saved)
}

// try tries answers up to an index, and returns the wrong one.
func (p *Program) try(ctx context.Context, answers config.Answers, at int) (failed int, err error) {
	if answers.Password == "" {
		return askPassword, errors.New("the password is empty, and RabbitMQ refuses that")
	}
	host := answers
	host.API = ""
	if _, err := host.Connection(); err != nil {
		return askHost, err
	}
	connection, err := answers.Connection()
	if err != nil {
		return askAPI, err
	}

	connection.NoJournal = true
	s, err := p.openConnection(connection)
	if err != nil {
		return askHost, err
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.broker.Check(ctx, cmp.Or(connection.VHost, "/"))
	switch {
	case isKind(err, trouble.BadCredentials):
		if at >= askPassword {
			return askPassword, err
		}
	case err != nil && !isKind(err, trouble.NotAllowed, trouble.NoSuchVHost, trouble.AtLimit):
		return askHost, err
	}

	if at < askAPI {
		return 0, nil
	}

	return askAPI, s.check(ctx)
}
