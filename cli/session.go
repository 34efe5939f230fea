package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dlxtop/model"
)

// patience bounds the first contact with a broker.
const patience = 20 * time.Second

// session is one connection in use. The broker is asked over AMQP only when a command needs that.
type session struct {
	program    *Program
	connection Connection
	source     Source
	broker     Broker
	journal    Journal // nil: nothing is kept
}

// open resolves the connection and prepares both ways to the broker, without contacting it.
func (p *Program) open(flags *connectionFlags) (*session, error) {
	connection, err := flags.resolve(p.Env)
	if err != nil {
		return nil, err
	}
	return p.openConnection(connection)
}

func (p *Program) openConnection(connection Connection) (*session, error) {
	source, err := p.Source(connection)
	if err != nil {
		return nil, err
	}
	var journal Journal
	if p.Journal != nil && !connection.NoJournal {
		journal = p.Journal(connection.JournalDir)
	}
	broker, err := p.Broker(connection, journal)
	if err != nil {
		source.Close()
		return nil, err
	}
	return &session{p, connection, source, broker, journal}, nil
}

// close ends the session. What it could not end properly changes nothing for anybody.
func (s *session) close() {
	_ = s.broker.Close()
	s.source.Close()
	if s.journal != nil {
		_ = s.journal.Close()
	}
}

// topology reads the broker once.
func (s *session) topology(ctx context.Context) (*model.Topology, error) {
	snapshot, err := s.source.Snapshot(ctx)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	for _, missing := range snapshot.Missing {
		s.program.say("%s", model.Printable(missing))
	}
	return model.NewTopology(snapshot), nil
}

// check proves that both ways to the broker are open, before a dashboard takes the terminal.
func (s *session) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	overview, err := s.source.Check(ctx)
	if err != nil {
		return s.explain(ctx, err)
	}
	if s.connection.VHost != "" {
		return s.checkCluster(ctx, s.connection.VHost, overview)
	}
	err = s.checkCluster(ctx, "/", overview)
	if !isKind(err, model.NotAllowed, model.NoSuchVHost) {
		return err
	}
	// The user may have another vhost than the default one.
	snapshot, readErr := s.source.Snapshot(ctx)
	if readErr != nil {
		return s.explain(ctx, readErr)
	}
	const tries = 10
	for _, vhost := range snapshot.VHosts[:min(tries, len(snapshot.VHosts))] {
		if vhost == "/" {
			continue
		}
		if err = s.checkCluster(ctx, vhost, overview); !isKind(err, model.NotAllowed, model.NoSuchVHost) {
			return err
		}
	}
	return err
}

// checkCluster proves that the broker lets the user into a vhost, and that it is the one which the management API tells of: a plan made from
// one broker must not run on another.
func (s *session) checkCluster(ctx context.Context, vhost string, told model.Overview) error {
	name, err := s.broker.Cluster(ctx, vhost)
	if err != nil || name == "" || told.ClusterName == "" || name == told.ClusterName {
		return err
	}
	return &model.ConnectError{
		Kind: model.TwoBrokers,
		Cause: fmt.Sprintf("%s belongs to the cluster %s, but the management API at %s to the cluster %s",
			s.address(), model.Printable(name), s.connection.API, model.Printable(told.ClusterName)),
		Next: "name both of one cluster, with --url and --api",
	}
}

// explain makes the most of a management API that does not answer: whether RabbitMQ itself does decides what to do next.
func (s *session) explain(ctx context.Context, err error) error {
	if !isKind(err, model.Unreachable) || ctx.Err() != nil {
		return err
	}
	vhost := s.connection.VHost
	if vhost == "" {
		vhost = "/"
	}
	brokerErr := s.broker.Check(ctx, vhost)
	switch {
	case brokerErr == nil || isKind(brokerErr, model.NotAllowed, model.NoSuchVHost):
		return &model.ConnectError{
			Kind:  model.NoManagement,
			Cause: fmt.Sprintf("RabbitMQ answers at %s, but no management API at %s", s.address(), s.connection.API),
			Next:  "enable it there (rabbitmq-plugins enable rabbitmq_management), or name its address with --api",
		}
	case isKind(brokerErr, model.Unreachable) && s.connection.Guessed:
		return &model.ConnectError{
			Kind:  model.Unreachable,
			Cause: "no broker is configured, and no RabbitMQ answers on this machine",
			Next: "name one with --url amqp://user:password@host/vhost, DLXTOP_URL, or a context in " + configPath(s.program.Env) +
				"; `dlxtop demo` shows dlxtop without a broker of your own",
		}
	}
	return brokerErr
}

// address is the broker's host:port.
func (s *session) address() string {
	e, err := parseAMQP("the URL", s.connection.AMQP)
	if err != nil {
		return s.connection.Name
	}
	return e.address()
}

// isKind reports whether err is a ConnectError of one of these kinds.
func isKind(err error, kinds ...model.ConnectKind) bool {
	var connect *model.ConnectError
	return errors.As(err, &connect) && slices.Contains(kinds, connect.Kind)
}

// poll reads the broker once, for a command that only tells what is there.
func (p *Program) poll(ctx context.Context, flags *connectionFlags) (*model.Topology, error) {
	s, err := p.open(flags)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.topology(ctx)
}
