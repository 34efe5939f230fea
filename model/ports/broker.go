package ports

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/trace"
)

// What is asked of a broker over AMQP. Errors that a person can act on are *model.ConnectError.
type (
	// Named tells who is connected, and where.
	Named interface {
		// User is the connected user.
		User() string
		// Address is the broker's host:port, as the journal names it.
		Address() string
	}

	// Looker looks at messages, and takes none.
	Looker interface {
		Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error)
		// Read looks at every message that is in a queue at the start, one at a time.
		Read(ctx context.Context, p peek.Plan, each func(*message.Message) error) (peek.Read, error)
		// Looked is what looks have cost the queues of a cluster, as this machine remembers it. The error says why only
		// this program's own are known.
		Looked(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error)
		// Held are the queues of which this client held messages at any time since then.
		Held(since time.Time) map[model.QueueRef]bool
	}

	// Counter counts queues exactly and at once; those that are gone or exclusive to others are left out.
	Counter interface {
		Count(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
	}

	// Executor runs a plan. progress is called from another goroutine, about ten times a second and once at the end. A
	// cancelled context ends it early: the account then tells how far it came. An error means that nothing was done. So
	// it is with the following, too.
	Executor interface {
		Execute(ctx context.Context, run plan.Run, progress func(plan.Account)) (plan.Account, error)
	}

	// Follower watches whether a replay worked, and writes that into its record. progress is called once a second. When
	// ctx ends, what is known so far is the sequel.
	Follower interface {
		Follow(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error)
	}

	// Undoer takes a record back.
	Undoer interface {
		Undo(ctx context.Context, p plan.UndoPlan, progress func(plan.Account)) (plan.Account, error)
	}

	// Resumer goes on with a record.
	Resumer interface {
		Resume(ctx context.Context, run resume.Run, progress func(plan.Account)) (plan.Account, error)
		// AwaitGone waits until the broker has noticed that the connections of a record are gone, and queues have back
		// what these held.
		AwaitGone(ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error),
			queues ...model.QueueRef) error
	}

	// Importer publishes messages into a queue. messages calls with each of them. Importable returns a check
	// for them: its error says why the broker would end the connection for one.
	Importer interface {
		Importable(ctx context.Context, into model.QueueRef) (func(*message.Message) error, error)
		Import(ctx context.Context, p resume.ImportPlan, messages func(func(*message.Message) error) error,
			progress func(plan.Account)) (plan.Account, error)
	}

	// Tapper shows each message that passes the exchanges of a plan, until ctx ends. see gets each, in their order, with
	// the time at which it came; tell is called from another goroutine when the tap works, and then about four times a
	// second. A plan that comes over follow replaces the bindings. The error says why it ended early.
	Tapper interface {
		Tap(ctx context.Context, p trace.TapPlan, follow <-chan trace.TapPlan,
			see func(m *message.Message, at time.Time), tell func(trace.TapCounts)) error
	}

	// Prober sends a marked message through a flow and follows it; tell gets each step as it happens. An error means
	// that nothing was sent.
	Prober interface {
		Probe(ctx context.Context, p trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error)
	}

	// Loser waits until a connection that worked is lost, and says why; nil when ctx ends first.
	Loser interface {
		Lost(ctx context.Context) error
	}
)
