package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
)

// What a first start asks, in this order.
const (
	askHost = iota
	askUser
	askPassword
	askAPI
	askName
)

// firstStart asks which broker is meant, when none was named, none is saved, and the one on this machine was not
// reached for this reason. It saves the answers as a context, and opens that.
func (p *Program) firstStart(
	ctx context.Context, flags *connectionFlags, look appearance, why error,
) (*session, error) {
	var connect *model.ConnectError
	if p.Ask == nil || !errors.As(why, &connect) {
		return nil, why
	}
	if there := contexts(p.Env); len(there) > 0 {
		p.say("`dlxtop --context NAME` opens one that is saved: %s", model.Printable(strings.Join(there, ", ")))
		return nil, why
	}
	saved := ""
	err := p.Ask(ctx, Form{
		Theme: look.theme, Own: look.themes, Plain: look.plain, Title: "Which RabbitMQ?", Secret: askPassword,
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
				var connect *model.ConnectError
				if errors.As(err, &connect) { // what to do next is to answer otherwise
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
	return p.openContext(ctx, saved, flags)
}

// try tries answers up to one of them, and says which is wrong.
func (p *Program) try(ctx context.Context, answers config.Answers, at int) (failed int, err error) {
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
	switch err = s.broker.Check(ctx, cmp.Or(connection.VHost, "/")); {
	case isKind(err, model.BadCredentials):
		if at >= askPassword {
			return askPassword, err
		}
	case err != nil && !isKind(err, model.NotAllowed, model.NoSuchVHost, model.AtLimit):
		return askHost, err
	}
	if at < askAPI {
		return 0, nil
	}
	return askAPI, s.check(ctx)
}
