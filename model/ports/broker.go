// Package ports declares what screens and commands need of the adapters: one small interface for each need, so that
// code which looks cannot execute, and ui, cli and broker mean the same by a method. It has no implementations: broker,
// mgmt, journal and export implement the interfaces without knowing this package, and main.go connects them. It also
// declares how a command asks for the dashboard, a form or a frame of it, as neither cli nor ui knows the other.
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

// What is needed of a broker over AMQP. Errors that a user can act on are *model.ConnectError.
type (
	// Named is the connection's user and address.
	Named interface {
		User() string
		// Address is the broker's host:port, as the journal names it.
		Address() string
	}

	// Looker looks at messages without taking any.
	Looker interface {
		Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error)
		// Read calls each with every message that is in a queue at the start, one at a time.
		Read(ctx context.Context, p peek.Plan, each func(*message.Message) error) (peek.Read, error)
		// Looked is what peeks have cost the queues of a cluster, as remembered on this machine. The error says why it only
		// covers this program's own.
		Looked(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error)
		// Held are the queues whose messages this client held at any time since then.
		Held(since time.Time) map[model.QueueRef]bool
	}

	// Counter counts queues exactly and immediately; queues that are gone or exclusive to others are left out.
	Counter interface {
		Count(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
	}

	// Executor runs a plan. progress is called from another goroutine, about ten times a second and once at the end.
	// Cancelling the context ends it early: the account then shows how far it came. An error means that nothing was done.
	// The same holds for the interfaces below.
	Executor interface {
		Execute(ctx context.Context, run plan.Run, progress func(plan.Account)) (plan.Account, error)
	}

	// Follower watches whether a replay worked, and writes that into its record. progress is called once a second. When
	// ctx ends, the sequel is what is known so far.
	Follower interface {
		Follow(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error)
	}

	Undoer interface {
		Undo(ctx context.Context, p plan.UndoPlan, progress func(plan.Account)) (plan.Account, error)
	}

	// Resumer resumes a record.
	Resumer interface {
		Resume(ctx context.Context, run resume.Run, progress func(plan.Account)) (plan.Account, error)
		// AwaitGone waits until the broker has noticed that the connections of a record are gone, and the messages that they
		// held are back in their queues.
		AwaitGone(ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error),
			queues ...model.QueueRef) error
	}

	// Importer publishes messages into a queue. messages calls its argument with each of them. Importable returns a check
	// for them: its error says why the broker would close the connection because of one.
	Importer interface {
		Importable(ctx context.Context, into model.QueueRef) (func(*message.Message) error, error)
		Import(ctx context.Context, p resume.ImportPlan, messages func(func(*message.Message) error) error,
			progress func(plan.Account)) (plan.Account, error)
	}

	// Tapper shows each message that passes the exchanges of a plan, until ctx ends. see gets them in order, with the time
	// of arrival; tell is called from another goroutine when the tap works, and then about four times a second. A plan
	// received from follow replaces the bindings. The error says why it ended early.
	Tapper interface {
		Tap(ctx context.Context, p trace.TapPlan, follow <-chan trace.TapPlan,
			see func(m *message.Message, at time.Time), tell func(trace.TapCounts)) error
	}

	// Prober sends a marked message through a flow and follows it; tell gets each step as it happens. An error means that
	// nothing was sent.
	Prober interface {
		Probe(ctx context.Context, p trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error)
	}

	// Loser waits until a working connection is lost, and says why; nil when ctx ends first.
	Loser interface {
		Lost(ctx context.Context) error
	}
)

// settling is the interval between counts of a queue that is getting messages back.
const settling = 100 * time.Millisecond

// CountSettled counts the ready messages of a queue once its held messages are back. It is unknown when the queue
// cannot be counted, or ctx ends first.
func CountSettled(ctx context.Context, counter Counter, queue model.QueueRef) model.Opt[int64] {
	ticker := time.NewTicker(settling)
	defer ticker.Stop()
	for {
		counts, err := counter.Count(ctx, []model.QueueRef{queue})
		if q, ok := counts[queue]; err != nil || !ok || !q.Held {
			return q.Ready
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return model.Unknown[int64]()
		}
	}
}
