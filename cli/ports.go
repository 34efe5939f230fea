package cli

import (
	"context"
	"io"
	"time"

	"dlxtop/model"
)

// Source tells what is on the broker. Errors that a person can act on are *model.ConnectError.
type Source interface {
	// Check proves that the management API answers and lets the user in.
	Check(ctx context.Context) (model.Overview, error)
	Snapshot(ctx context.Context) (*model.Snapshot, error)
	// Counts are the current counts of all queues, in one request.
	Counts(ctx context.Context) (map[model.QueueRef]model.QueueCounts, error)
	Close()
}

// Broker looks at messages and acts on them. Errors that a person can act on are *model.ConnectError.
type Broker interface {
	// Check proves that the broker lets the user into a vhost.
	Check(ctx context.Context, vhost string) error
	// Cluster is the name of the cluster that a vhost's connection leads to, "" when it is not told.
	Cluster(ctx context.Context, vhost string) (string, error)
	Peek(ctx context.Context, plan model.PeekPlan) (model.Peeked, error)
	// Execute runs a plan. progress is called from another goroutine, about ten times a second and once at the end. A
	// cancelled context ends it early: the account then tells how far it came. An error means that nothing was done.
	Execute(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error)
	// Undo takes a record back. entries calls with each entry of it.
	Undo(ctx context.Context, plan model.UndoPlan, entries func(func(*model.Entry) error) error, progress func(model.Account)) (model.Account, error)
	// Read looks at every message that is in a queue at the start, one at a time.
	Read(ctx context.Context, plan model.PeekPlan, each func(*model.Message) error) (stopped string, err error)
	// Import publishes messages into a queue. messages calls with each of them.
	Import(ctx context.Context, queue model.QueueRef, messages func(func(*model.Message) error) error, progress func(model.Account)) (model.Account, error)
	// Tap shows each message that passes the exchanges of a plan, until ctx ends. see gets each, in their order, with the time at which it
	// came; tell is called from another goroutine when the tap works, and then about four times a second. A plan that comes over follow
	// replaces the bindings. The error says why it ended early.
	Tap(ctx context.Context, plan model.TapPlan, follow <-chan model.TapPlan, see func(m *model.Message, at time.Time), tell func(model.TapCounts)) error
	// Probe sends a marked message through a flow and follows it; tell gets each step as it happens. An error means that nothing was sent.
	Probe(ctx context.Context, plan model.ProbePlan, tell func(model.ProbeStep)) (model.ProbeResult, error)
	// Count counts queues exactly and at once; those that are gone or exclusive to others are left out.
	Count(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
	// Held are the queues of which this client held messages at any time since then.
	Held(since time.Time) map[model.QueueRef]bool
	User() string
	// Address is the broker's host:port, as the journal names it.
	Address() string
	Close() error
}

// Journal is what was done. Errors that a person can act on wrap model.ErrJournal or model.ErrNoRecord.
type Journal interface {
	// Check proves that it can be written.
	Check(ctx context.Context) error
	Records(ctx context.Context, limit int) ([]model.Record, error)
	Record(ctx context.Context, id int64) (model.Record, error)
	Unfinished(ctx context.Context) ([]model.Record, error)
	Entries(ctx context.Context, id int64, each func(*model.Entry) error) error
	Close() error

	// What the broker writes.
	Begin(ctx context.Context, record model.Record) (int64, error)
	Write(id int64, entries []model.Entry, settled []model.Settled) error
	Settle(id int64, settled []model.Settled) error
	Finish(id int64, settled []model.Settled, account model.Account) error
}

// Files are files of messages. Errors about a file wrap model.ErrFile.
type Files interface {
	// Create writes messages into a new file; Write writes them to a stream. n is how many. messages calls with each of them.
	Create(path string, messages func(each func(*model.Message) error) error) (n int, err error)
	Write(out io.Writer, messages func(each func(*model.Message) error) error) (n int, err error)
	Read(ctx context.Context, path string, each func(*model.Message) error) error
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
	Journal    Journal // nil: nothing is kept
}

// Program is the command line with everything that it reaches: main.go fills it in.
type Program struct {
	Version string // "v1.2.0"; "" when not built as a release
	Commit  string // "" when unknown

	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) string

	Source    func(Connection) (Source, error)
	Broker    func(Connection, Journal) (Broker, error) // without a journal (nil) nothing is kept
	Journal   func(dir string) Journal                  // in this directory; "" is the user's own
	Files     Files
	Dashboard func(ctx context.Context, d Dashboard) error
	Demo      func(ctx context.Context, log io.Writer) (Node, error)
	Scenarios []Scenario
}
