package cli

import (
	"context"
	"io"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/observe"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/hosts"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/turns"
	"github.com/dlxtop/dlxtop/model/upgrade"
)

// Source reads the management API.
type Source interface {
	ports.Source
	// InUse reads what an upgrade has to know besides a snapshot.
	InUse(ctx context.Context) upgrade.Use
	// Destroyed reads what each running node destroyed of what left queues without a dead-letter exchange.
	Destroyed(ctx context.Context) []loss.Destroyed
	// Cluster is what it told of the nodes.
	Cluster() *hosts.Cluster
	// Check proves that the management API answers and lets the user in.
	Check(ctx context.Context) (model.Overview, error)
	Close()
}

// Broker peeks at messages and acts on them. The dashboard needs what no command calls.
type Broker interface {
	turns.Broker
	ports.OtherCalls
	action.Importer
	// Importable returns a check for messages: its error says why the broker would close the connection because of one.
	// kept are the messages that passed it: all of them, or the first ones.
	Importable(ctx context.Context, into model.QueueRef) (check message.Visit, kept message.Messages, err error)
	// CountInTurn counts a queue while no other dlxtop of this machine holds messages of it. decides: an action follows.
	CountInTurn(ctx context.Context, queue model.QueueRef, decides bool) (model.CountsByQueue, error)
	// Check proves that the broker lets the user into a vhost.
	Check(ctx context.Context, vhost string) error
	// Cluster is the name of the cluster that a vhost's connection leads to, "" when the broker does not say.
	Cluster(ctx context.Context, vhost string) (string, error)
	Close() error
}

// Rereads are what actions read of the management API while they run.
type Rereads struct {
	Topology plan.Reread
	Totals   func(context.Context) (model.CountsByQueue, error) // of all queues
	Cluster  *hosts.Cluster
}

// Journal reads what was done.
type Journal interface {
	ports.Records
	Check(ctx context.Context) error // proves that it is writable
	Close() error
}

// PeekStore has peeks of any dlxtop of this user. The caller closes the messages.
type PeekStore interface {
	Load(cluster string, queue model.QueueRef) (peek.Peeked, bool)
}

// Files reads and writes files of messages.
type Files interface {
	ports.Files
	// Write writes messages to a stream; messages calls its argument with each of them. n is their number.
	Write(out io.Writer, messages message.Walk) (n int, err error)
}

// Node is a throwaway RabbitMQ that only has what the demo declares.
type Node interface {
	AMQP() string // its URL with credentials
	API() string  // the URL of its management API with credentials
	// Play declares a scenario ("" is all of them) and keeps its traffic going until ctx ends, which is not an error. It
	// calls ready when the broker shows all of it, including consumers and first messages.
	Play(ctx context.Context, scenario string, ready func()) error
	Stop() error
}

// Scenario is one scenario that the demo can play.
type Scenario struct {
	Name  string // as --scenario takes it
	About string // one line
}

// Dashboard is what the dashboard needs to run.
type Dashboard struct {
	dashboard.Appearance
	Connection config.Connection
	Source     Source
	Broker     Broker
	Journal    Journal  // nil: nothing is recorded
	Contexts   []string // that the user can switch to
	Trouble    string   // why switching to one failed; "" otherwise
}

// Build is what dlxtop was built from; unknown parts are "".
type Build struct {
	Version string // "v1.2.0"
	Commit  string
	Date    string // of the commit, RFC 3339
}

// Program is the command line with everything that it uses: main.go fills it in.
type Program struct {
	Build Build

	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) string

	Source  func(config.Connection) (Source, error)
	Broker  func(config.Connection, Journal, Rereads) (Broker, error) // without a journal (nil) nothing is recorded
	Journal func(dir string) Journal                                  // in this directory; "" is the user's own
	// States is the file with the states of causes, beside the journal in this directory ("" is the user's own); nil when
	// there is none.
	States func(dir string) ([]byte, error)
	// Alarms is the file of what watches have told, in the same place.
	Alarms func(dir string) observe.Memory
	// Index and Store may be nil, and their results.
	Index func(config.Connection) cause.Index
	Store func(config.Connection) PeekStore
	JQ    mend.Runner // runs the programs of --edit
	Files Files
	// Dashboard returns the context to switch to; "" when the user quits.
	Dashboard func(ctx context.Context, d Dashboard) (next string, err error)
	// Ask shows a form until its last text was tried with success, or the user leaves it.
	Ask func(ctx context.Context, f dashboard.Form) error
	// Frame writes one screen of the dashboard.
	Frame     func(ctx context.Context, d Dashboard, f dashboard.Frame) error
	Demo      func(ctx context.Context, nodes int, log io.Writer) (Node, error)
	Scenarios []Scenario
	config.Screens

	flags    connectionFlags // of the current run
	given    []string        // its arguments
	command  string          // that runs, without its arguments
	free     bool            // a look that has a cost is refused, whatever the configuration says
	uncopied bool            // it took a message that could not be put back into its queue
}
