package cli

import (
	"context"
	"io"

	"dlxtop/model"
)

// Source tells what is on the broker. Errors that a person can act on are *model.ConnectError.
type Source interface {
	// Check proves that the management API answers and lets the user in.
	Check(ctx context.Context) (model.Overview, error)
	Snapshot(ctx context.Context) (*model.Snapshot, error)
	Close()
}

// Broker looks at messages and acts on them. Errors that a person can act on are *model.ConnectError.
type Broker interface {
	// Check proves that the broker lets the user into a vhost.
	Check(ctx context.Context, vhost string) error
	Peek(ctx context.Context, plan model.PeekPlan) (model.Peeked, error)
	// Execute runs a plan. progress is called from another goroutine, about ten times a second and once at the end. A
	// cancelled context ends it early: the account then tells how far it came. An error means that nothing was done.
	Execute(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error)
	User() string
	Close() error
}

// Node is a throwaway RabbitMQ with nothing in it but what the demo puts there.
type Node interface {
	AMQP() string // its URL with credentials
	API() string  // the URL of its management API with credentials
	// Play declares a scenario ("" is all of them) and keeps its traffic going until ctx ends, which is no error.
	Play(ctx context.Context, scenario string) error
	Stop() error
}

// Scenario is one thing that the demo can play.
type Scenario struct {
	Name  string // as --scenario takes it
	About string // one line
}

// Dashboard is what the dashboard needs to run.
type Dashboard struct {
	Connection Connection
	Source     Source
	Broker     Broker
}

// Program is the command line with everything that it reaches: main.go fills it in.
type Program struct {
	Version string // "v1.2.0"; "" when not built as a release
	Commit  string // "" when unknown

	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) string

	Source    func(Connection) (Source, error)
	Broker    func(Connection) (Broker, error)
	Dashboard func(ctx context.Context, d Dashboard) error
	Demo      func(ctx context.Context, log io.Writer) (Node, error)
	Scenarios []Scenario
}
