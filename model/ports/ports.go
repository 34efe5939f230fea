// Package ports declares what command line and dashboard both need of adapters.
package ports

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trace"
)

// Source reads the management API. Errors that a user can act on are *trouble.Error, as those of Broker.
type Source interface {
	Snapshot(ctx context.Context) (*model.Snapshot, error)
	// Current is a Snapshot with fresh policies, whose age is not that of the statistics, for an action about to run.
	Current(ctx context.Context) (*model.Snapshot, error)
	// Counts has all queues, by one request.
	Counts(ctx context.Context) (model.CountsByQueue, error)
	// Connections has the names of the connections that the user may see.
	Connections(ctx context.Context) ([]string, error)
}

// OtherCalls do not mind that a background peek holds messages.
type OtherCalls interface {
	User() string
	// Address is the broker's host:port, as the journal names it.
	Address() string
	// Node is the address that connections lead to, and Several reports whether there is more than one.
	Node() string
	Several() bool
	Counter
	// Looked is what peeks have cost the queues of a cluster, as remembered on this machine. The error says why it only
	// covers this program's own.
	Looked(ctx context.Context, cluster string) (model.LookedByQueue, error)
	// Held has the queues whose messages this client held at any time since then.
	Held(since time.Time) model.QueueSet
	// Others is what programs other than dlxtop's of this machine do with queues. left is what was found in each.
	Others(ctx context.Context, left []plan.Left) (map[model.QueueRef]plan.Others, error)
	// MayWrite reports whether the user may publish to an exchange, whatever topic permissions say.
	MayWrite(ctx context.Context, exchange model.ExchangeRef) (bool, error)
	// Follow watches whether a replay worked, and writes that into its record. progress is called once a second. When ctx
	// ends, the sequel is what is known so far.
	Follow(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error)
	// AwaitGone waits until the broker has noticed that the connections of a record are gone, and the messages that they
	// held are back in their queues.
	AwaitGone(ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error)) error
	// Tap shows each message that passes the exchanges of a plan, until ctx ends. see gets them in order, with the time of
	// arrival; tell is called from another goroutine when the tap works, and then about four times a second. A plan
	// received from follow replaces the bindings. The error says why it ended early.
	Tap(ctx context.Context, p trace.TapPlan, follow <-chan trace.TapPlan,
		see func(m *message.Message, at time.Time), tell func(trace.TapCounts)) error
	// Lost waits until a working connection is lost, and says why; nil when ctx ends first.
	Lost(ctx context.Context) error
}

// Counter counts queues exactly and immediately; queues that are gone or exclusive to others are left out.
type Counter interface {
	Count(ctx context.Context, queues []model.QueueRef) (model.CountsByQueue, error)
}

// Records reads the journal. Errors that a user can act on wrap plan.ErrJournal or plan.ErrNoRecord.
type Records interface {
	// Replayed has the copies that replays have sent on a broker ("HOST:PORT") and its cluster, without those that an undo
	// has brought back.
	Replayed(ctx context.Context, broker, cluster string) (*plan.Doubles, error)
	Records(ctx context.Context, limit int) ([]plan.Record, error)
	Record(ctx context.Context, id int64) (plan.Record, error)
	Entries(ctx context.Context, id int64, each plan.VisitEntry) error
	Unfinished(ctx context.Context) ([]plan.Record, error)
	// Chain has the records that resume each other, from the first one on, with their intents.
	Chain(ctx context.Context, id int64) ([]plan.Record, error)
	// Reserve keeps other programs from planning to resume a record. The error is a *plan.BeingResumed.
	Reserve(id int64) (release func(), err error)
}

// Files reads and writes files of messages. Errors about a file wrap message.ErrFile.
type Files interface {
	// Create calls messages, which calls its argument with each message of the new file. n is their number.
	Create(path string, messages message.Walk) (n int, err error)
	// Read calls each with every message of a file.
	Read(ctx context.Context, path string, each message.Visit) error
}
