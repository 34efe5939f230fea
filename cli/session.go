package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/naming"
	"github.com/dlxtop/dlxtop/cli/observe"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/around"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// patience bounds the first contact with a broker, and the count after an action.
const patience = 20 * time.Second

// briefly bounds the AMQP check in a command that only needs the management API.
const briefly = 3 * time.Second

// session is one connection in use. It contacts the broker over AMQP only when a command needs that.
type session struct {
	*Program
	connection config.Connection
	source     Source
	broker     Broker
	journal    Journal // nil: nothing is recorded
}

// read is for a read-only command: it reads the broker once, and uses that.
func (p *Program) read(
	ctx context.Context, use func(s *session, t *model.Topology) error,
) error {
	s, err := p.open()
	if err != nil {
		return err
	}
	defer s.close()
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}

	return use(s, t)
}

// readQueue is read for a command that looks at a queue.
func (p *Program) readQueue(
	ctx context.Context, named string,
	use func(s *session, t *model.Topology, ref model.QueueRef) error,
) error {
	return p.read(ctx, func(s *session, t *model.Topology) error {
		ref, err := s.findQueue(ctx, t, named)
		if err != nil {
			return err
		}
		return use(s, t, ref)
	})
}

// findQueue finds the queue that a user named, for an operation over AMQP.
func (s *session) findQueue(ctx context.Context, t *model.Topology, named string) (model.QueueRef, error) {
	ref, err := naming.Queue(t, named)
	if err != nil {
		return ref, usage("%w", err)
	}
	return ref, s.checkCluster(ctx, ref.VHost, t.Snapshot.Overview)
}

// look is what is known of messages of a queue that were read (nil: one by one, which shows no copies).
func (s *session) look(
	ctx context.Context, t *model.Topology, ref model.QueueRef, read message.Messages,
) around.Look {
	look := around.Look{Topology: t, Queue: ref, Messages: read}
	if s.journal != nil {
		look.Replayed = func() around.Replayed {
			sent, err := s.journal.Replayed(ctx, s.broker.Address(), t.Snapshot.Overview.ClusterName)
			if err != nil {
				return nil
			}
			return sent
		}
	}

	return look
}

// open resolves the connection and prepares AMQP and the management API, without contacting the broker.
func (p *Program) open() (*session, error) {
	connection, err := p.flags.resolve(p.Env)
	if err != nil {
		return nil, err
	}
	return p.openConnection(connection)
}

func (p *Program) openConnection(connection config.Connection) (*session, error) {
	if connection.Warning != "" {
		p.note("warning: %s", connection.Warning)
	}

	source, err := p.Source(connection)
	if err != nil {
		return nil, err
	}
	var journal Journal
	if !connection.NoJournal {
		journal = p.Journal(connection.JournalDir)
	}

	connection.Command = p.command
	if p.free {
		connection.Looks = ""
	}
	broker, err := p.Broker(connection, journal, Rereads{
		Topology: func(ctx context.Context) (*model.Topology, error) {
			snapshot, err := source.Snapshot(ctx)
			if err != nil {
				return nil, err
			}
			return model.NewTopology(snapshot), nil
		},
		Totals:  source.Counts,
		Cluster: source.Cluster(),
	})
	if err != nil {
		source.Close()
		return nil, err
	}

	return &session{p, connection, source, broker, journal}, nil
}

// close ends the session. Errors at the end have no consequences.
func (s *session) close() {
	_ = s.broker.Close()
	s.source.Close()
	if s.journal != nil {
		_ = s.journal.Close()
	}
}

// slowPolls is how often a broker that does not answer in time is asked: each time with twice the timeout.
const slowPolls = 3

// topology reads the broker once.
func (s *session) topology(ctx context.Context) (*model.Topology, error) {
	snapshot, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for _, missing := range snapshot.Missing {
		s.note("%s", missing)
	}

	return model.NewTopology(snapshot), nil
}

// snapshot polls the broker. A large, busy broker's answers may take longer than a first poll waits.
func (s *session) snapshot(ctx context.Context) (*model.Snapshot, error) {
	snapshot, err := s.source.Snapshot(ctx)
	var slow *trouble.Error
	for polls := 1; polls < slowPolls && errors.As(err, &slow) && slow.Kind == trouble.TooSlow; polls++ {
		s.note("%s: dlxtop asks again and waits longer", slow.Cause)
		snapshot, err = s.source.Snapshot(ctx)
	}

	if err != nil {
		return nil, s.explain(ctx, err)
	}
	snapshot.Remember(s.broker.Looked(ctx, snapshot.Overview.ClusterName))

	return snapshot, nil
}

// check proves that AMQP and the management API work, before a dashboard takes over the terminal.
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
	if !isKind(err, trouble.NotAllowed, trouble.NoSuchVHost) {
		return err
	}

	// The user may have access to a vhost other than the default one.
	snapshot, readErr := s.source.Snapshot(ctx)
	if readErr != nil {
		return s.explain(ctx, readErr)
	}
	const tries = 10
	for _, vhost := range snapshot.VHosts[:min(tries, len(snapshot.VHosts))] {
		if vhost == "/" {
			continue
		}
		if err = s.checkCluster(ctx, vhost, overview); !isKind(err, trouble.NotAllowed, trouble.NoSuchVHost) {
			return err
		}
	}

	return err
}

// checkCluster proves that the broker lets the user into a vhost, and that it is the cluster that the management API
// reports: a plan made from one broker must not run on another.
func (s *session) checkCluster(ctx context.Context, vhost string, told model.Overview) error {
	name, err := s.broker.Cluster(ctx, vhost)
	same := func() bool { return s.source.Cluster().Name(name) == s.source.Cluster().Name(told.ClusterName) }
	if err != nil || name == "" || told.ClusterName == "" || same() {
		return err
	}

	// Its queues may tell that both are nodes of one cluster.
	if _, err = s.source.Snapshot(ctx); err != nil || same() {
		return err
	}
	return trouble.TwoClusters.With(trouble.Values{
		At: s.broker.Node(), Name: name, API: s.connection.API, Detail: told.ClusterName,
	})
}

// explain improves the error of a management API that does not answer: the next step depends on whether RabbitMQ itself
// does.
func (s *session) explain(ctx context.Context, err error) error {
	if !isKind(err, trouble.Unreachable, trouble.NoSuchHost, trouble.NoAnswer, trouble.TooSlow) || ctx.Err() != nil {
		return err
	}
	vhost := s.connection.VHost
	if vhost == "" {
		vhost = "/"
	}

	brokerErr := s.broker.Check(ctx, vhost)
	answers := brokerErr == nil || isKind(brokerErr, trouble.NotAllowed, trouble.NoSuchVHost, trouble.AtLimit)
	refused := isKind(err, trouble.Unreachable) && len(s.connection.APIHosts) == 0 // what to enable, and where, is clear
	var told *trouble.Error
	switch {
	case answers && !refused && errors.As(err, &told):
		return told.ButAMQPAnswers(s.broker.Node())
	case answers:
		return trouble.AMQPWithoutAPI.With(trouble.Values{At: s.connection.Address(), API: s.connection.API})
	case isKind(brokerErr, trouble.Unreachable) && s.connection.Guessed:
		return trouble.NoBroker.With(trouble.Values{
			Name: cmp.Or(config.Path(s.Env), "dlxtop/config.toml below XDG_CONFIG_HOME"),
		})
	}

	return brokerErr
}

func isKind(err error, kinds ...trouble.Kind) bool {
	var connect *trouble.Error
	return errors.As(err, &connect) && slices.Contains(kinds, connect.Kind)
}

// poll is read for a command that only needs the management API, plus counts.
func (p *Program) poll(
	ctx context.Context, use func(s *session, t *model.Topology) error,
) error {
	return p.read(ctx, func(s *session, t *model.Topology) error {
		if err := s.sameCluster(ctx, t); err != nil {
			return err
		}
		return use(s, s.confirmed(ctx, t, true))
	})
}

// observed is what the commands need that poll on.
func (p *Program) observed() *observe.Program {
	return &observe.Program{
		Out: p.Out, Env: p.Env, Note: p.note, Usage: usage, Firing: &exit{status: ExitRefused},
		Open: func() (*observe.Session, error) {
			s, err := p.open()
			if err != nil {
				return nil, err
			}
			return &observe.Session{
				VHost: s.connection.VHost, Snapshot: s.snapshot, Broker: s.broker, States: s.statesOf, Kept: s.kept,
				Confirm: s.confirmed,
				Memory:  p.Alarms(s.connection.JournalDir), Close: s.close,
			}, nil
		},
	}
}

// confirmed counts the queues without consumers by the statistics, which lag, and the buffers of those that have
// delivered nothing. If AMQP does not answer, the statistics stand. ready takes over the messages, too: not where polls
// are compared.
func (s *session) confirmed(ctx context.Context, t *model.Topology, ready bool) *model.Topology {
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	counts, _ := s.counts(ctx, append(findings.Unconfirmed(t), findings.Unread(t)...)) // none: the statistics stand
	return t.Confirmed(counts, ready)
}

// sameCluster checks, for a command that only needs the management API, that AMQP leads to the same cluster: a user who
// names both means one. If AMQP does not answer, or refuses the login, it says so, and the command continues; if AMQP
// was not named nothing is claimed about it.
func (s *session) sameCluster(ctx context.Context, t *model.Topology) error {
	vhost := s.connection.VHost
	if vhost == "" && len(t.Snapshot.VHosts) > 0 && !slices.Contains(t.Snapshot.VHosts, "/") {
		vhost = t.Snapshot.VHosts[0]
	}

	limited, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	err := s.checkCluster(limited, cmp.Or(vhost, "/"), t.Snapshot.Overview)
	var why *trouble.Error
	switch {
	case err == nil:
	case isKind(err, trouble.TwoBrokers):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case s.connection.APIOnly:
	case errors.As(err, &why):
		s.note("not checked that AMQP leads to the same cluster: %s", why.Cause)
	default:
		s.note("not checked that AMQP leads to the same cluster: %s did not answer within %s", s.connection.Address(),
			briefly)
	}

	return nil
}
