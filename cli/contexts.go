package cli

import (
	"context"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
)

// dashboard is what the dashboard needs to show this session.
func (s *session) dashboard(look appearance) Dashboard {
	return Dashboard{
		Connection: s.connection, Source: s.source, Broker: s.broker, Journal: s.journal,
		Theme: look.theme, OwnThemes: look.themes, Mouse: look.mouse, Plain: look.plain,
		Filters: look.filters, Actions: look.actions, Schemas: look.schemas,
	}
}

// dashboards shows the dashboard on a session, and on those of the contexts that the user goes to from there. It closes
// them. A context that cannot be opened changes nothing: the dashboard goes on with the session before, and says why.
func (p *Program) dashboards(ctx context.Context, s *session, flags *connectionFlags, look appearance) error {
	defer func() { s.close() }()
	trouble := ""
	for {
		d := s.dashboard(look)
		d.Contexts, d.Trouble = contexts(p.Env), trouble
		next, err := p.Dashboard(ctx, d)
		if err != nil || next == "" || ctx.Err() != nil {
			return err
		}
		line := p.progress()
		if line.terminal {
			line.draw("connecting to " + model.Printable(next))
		}
		other, err := p.openContext(ctx, next, flags)
		line.stop()
		if ctx.Err() != nil {
			if other != nil {
				other.close()
			}
			return ctx.Err()
		}
		if err != nil {
			trouble = "still " + s.connection.Name + ", not " + next + ": " + err.Error()
			continue
		}
		s.close()
		s, trouble = other, ""
	}
}

// contexts are the names in the configuration file; none when it cannot be read.
func contexts(env func(string) string) []string {
	file, err := config.Read(env)
	if err != nil {
		return nil
	}
	return file.Contexts()
}

// openContext opens a session on a context, with the caution that the command line asked for.
func (p *Program) openContext(ctx context.Context, name string, flags *connectionFlags) (*session, error) {
	there := config.Flags{Context: name, ReadOnly: flags.ReadOnly, NoJournal: flags.NoJournal}
	connection, err := there.Connection(p.Env)
	if err != nil {
		return nil, misconfigured(err)
	}
	return p.openChecked(ctx, connection)
}

// openChecked opens a session, and proves that both ways to the broker are open.
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
