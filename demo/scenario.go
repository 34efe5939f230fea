package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"
)

// Scenario is one system with delayed, retry or failed queues, as applications build them: its topology, and live
// publishers and failing workers for it. All scenarios fit into one vhost together.
type Scenario struct {
	Name    string // as `dlxtop demo --scenario` takes it
	Summary string // one line for a person

	topology topology
	// publishes first messages; does nothing the second time; may be nil
	seed    func(ctx context.Context, conn *amqp.Connection) error
	filled  map[string]int // queues that hold at least this many messages from the seed on
	actors  []actor        // the live traffic, besides that of the workers
	workers []worker
}

// actor is a publisher or a worker: it works on the connection until ctx ends or the connection fails.
type actor func(ctx context.Context, conn *amqp.Connection) error

func Scenarios() []Scenario {
	return []Scenario{retryQueue(), delayed(), delayedRetry(), pubsub(), lifecycle()}
}

// ScenarioNamed returns the scenario of that name. Its error lists the existing ones.
func ScenarioNamed(name string) (Scenario, error) {
	var names []string
	for _, scenario := range Scenarios() {
		if scenario.Name == name {
			return scenario, nil
		}
		names = append(names, scenario.Name)
	}

	return Scenario{}, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names, ", "))
}

// Queues returns the names of the scenario's queues, in the order of their declaration.
func (s Scenario) Queues() []string {
	var names []string
	for _, queue := range s.topology.queues {
		names = append(names, queue.name)
	}
	return names
}

// Empty returns the scenario without its first messages.
func (s Scenario) Empty() Scenario {
	s.seed, s.filled = nil, nil
	return s
}

// Declare declares the scenario's exchanges, queues and bindings, publishes its first messages, and returns when the
// broker has confirmed all of it. There is no traffic then. Exclusive queues (lifecycle has some) live as long as the
// connection that declared them: it is kept open until ctx ends.
func (s Scenario) Declare(ctx context.Context, amqpURL string) error {
	conn, err := s.open(ctx, amqpURL, true)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(s.topology.queues, func(q queue) bool { return q.exclusive }) {
		context.AfterFunc(ctx, func() { closeConnection(conn) })
		return nil
	}

	closeConnection(conn)
	return nil
}

// Run declares the scenario and keeps its traffic going until ctx ends, which is not an error. It waits for a broker
// that goes away, with growing pauses; only the first connection and declaration must succeed. No goroutine, connection
// or consumer is left when it returns.
func (s Scenario) Run(ctx context.Context, amqpURL string) error {
	const shortest, longest = 250 * time.Millisecond, 5 * time.Second
	pause := shortest
	for first := true; ; first = false {
		conn, err := s.open(ctx, amqpURL, first)
		if err == nil {
			pause = shortest
			s.play(ctx, conn)
		} else if first && ctx.Err() == nil {
			return err
		}

		if !wait(ctx, pause) {
			return nil
		}
		pause = min(2*pause, longest)
	}
}

// Play runs the scenario of a name, or all of them when it is "", like RunAll.
func (n *Node) Play(ctx context.Context, name string, ready func()) error {
	if name == "" {
		return RunAll(ctx, n, ready)
	}
	scenario, err := ScenarioNamed(name)
	if err != nil {
		return fmt.Errorf("play: %w", err)
	}

	return RunAll(ctx, n, ready, scenario)
}

// RunAll runs scenarios together on a node, all of them when none is named, until ctx ends. When one cannot be
// declared, the others end too and its error is returned. It calls ready, if not nil, when the management API shows the
// scenarios completely: every queue, the consumers of their workers, the first messages. It does so after 30 s at the
// latest, and not at all when RunAll ends before.
func RunAll(ctx context.Context, node *Node, ready func(), scenarios ...Scenario) error {
	if len(scenarios) == 0 {
		scenarios = Scenarios()
	}

	group, ctx := errgroup.WithContext(ctx)
	for _, scenario := range scenarios {
		group.Go(func() error { return scenario.Run(ctx, node.AMQP()) })
	}

	if ready != nil {
		group.Go(func() error {
			awaitComplete(ctx, node.API(), scenarios)
			if ctx.Err() == nil {
				ready()
			}
			return nil
		})
	}

	return group.Wait()
}

func (s Scenario) open(ctx context.Context, url string, seed bool) (*amqp.Connection, error) {
	conn, err := dial(ctx, url, "dlxtop demo: "+s.Name)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: connect: %w", s.Name, err)
	}
	err = s.topology.declare(conn)
	if err == nil && seed && s.seed != nil {
		err = s.seed(ctx, conn)
	}

	if err != nil {
		closeConnection(conn)
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}

	return conn, nil
}

// play lets the actors work until ctx ends or the connection is lost, and closes the connection. Why an actor failed
// does not matter: all start again on the next connection.
func (s Scenario) play(ctx context.Context, conn *amqp.Connection) {
	group, ctx := errgroup.WithContext(ctx)
	lost := conn.NotifyClose(make(chan *amqp.Error, 1)) // room for the only notice
	group.Go(func() error {
		select {
		case <-ctx.Done():
		case <-lost:
		}
		closeConnection(conn) // wakes every actor that waits for the broker
		return errEnded
	})

	for _, actor := range s.actors {
		group.Go(func() error { return actor(ctx, conn) })
	}
	for _, worker := range s.workers {
		group.Go(func() error { return worker.work(ctx, conn) })
	}

	_ = group.Wait()
}

// topology is what a scenario declares. The names of its queues and exchanges are unique.
type topology struct {
	exchanges []exchange
	queues    []queue
	bindings  []binding
}

type exchange struct{ name, kind string }

type queue struct {
	name      string
	exclusive bool
	arguments amqp.Table
}

// binding routes messages with this key from exchange to queue.
type binding struct{ exchange, key, queue string }

// declare declares all of it, durable where it is not exclusive. What exists already with the same settings stays as it
// is.
func (t topology) declare(conn *amqp.Connection) error {
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	defer ch.Close()
	for _, e := range t.exchanges {
		if err := ch.ExchangeDeclare(e.name, e.kind, true, false, false, false, nil); err != nil {
			return fmt.Errorf("declare the exchange %s: %w", e.name, err)
		}
	}

	for _, q := range t.queues {
		if _, err := ch.QueueDeclare(q.name, !q.exclusive, false, q.exclusive, false, q.arguments); err != nil {
			return fmt.Errorf("declare the queue %s: %w", q.name, err)
		}
	}

	for _, b := range t.bindings {
		if err := ch.QueueBind(b.queue, b.key, b.exchange, false, nil); err != nil {
			return fmt.Errorf("bind the queue %s to %s by %q: %w", b.queue, b.exchange, b.key, err)
		}
	}

	return nil
}
