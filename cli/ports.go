package cli

import (
	"context"
	"io"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// Source reports what is on the broker.
type Source interface {
	ports.Source
	// Check proves that the management API answers and lets the user in.
	Check(ctx context.Context) (model.Overview, error)
	Close()
}

// Broker looks at messages and acts on them.
type Broker interface {
	ports.Named
	ports.Looker
	ports.Counter
	ports.Executor
	ports.Follower
	ports.Undoer
	ports.Resumer
	ports.Importer
	ports.Tapper
	ports.Prober
	ports.Loser
	// Check proves that the broker lets the user into a vhost.
	Check(ctx context.Context, vhost string) error
	// Cluster is the name of the cluster that a vhost's connection leads to, "" when the broker does not say.
	Cluster(ctx context.Context, vhost string) (string, error)
	Close() error
}

// Journal reads what was done, and records what the broker does.
type Journal interface {
	ports.Records
	ports.Recorder
	Close() error
}

// Files are files of messages.
type Files interface {
	ports.Files
	// Write writes messages to a stream; messages calls its argument with each of them. n is their number.
	Write(out io.Writer, messages func(each func(*message.Message) error) error) (n int, err error)
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
	ports.Looks
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
	Broker  func(config.Connection, Journal, plan.Reread) (Broker, error) // without a journal (nil) nothing is recorded
	Journal func(dir string) Journal                                      // in this directory; "" is the user's own
	// States is the file with the states of causes, beside the journal in this directory ("" is the user's own); nil when
	// there is none.
	States func(dir string) ([]byte, error)
	// Index stores what is read of failed queues; nil, also as a result: nothing is stored.
	Index func(config.Connection) ports.Index
	Files Files
	// Dashboard returns the context to switch to; "" when the user quits.
	Dashboard func(ctx context.Context, d Dashboard) (next string, err error)
	// Ask shows a form until its last text was tried with success, or the user leaves it.
	Ask func(ctx context.Context, f ports.Form) error
	// Frame writes one screen of the dashboard.
	Frame     func(ctx context.Context, d Dashboard, f ports.Frame) error
	Demo      func(ctx context.Context, log io.Writer) (Node, error)
	Scenarios []Scenario
	Themes    []string // themes of the dashboard
	// CheckTheme refuses a theme's colours, or its name, with one sentence.
	CheckTheme func(name string, colours map[string]string) error
	// CheckKey refuses a key that an action cannot have, with one sentence.
	CheckKey func(name string) error

	given []string // the arguments of the current run
}
