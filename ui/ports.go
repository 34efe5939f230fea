package ui

import (
	"context"
	"time"

	"dlxtop/model"
)

// Source tells what is on the broker. Errors that a person can act on are *model.ConnectError.
type Source interface {
	Snapshot(ctx context.Context) (*model.Snapshot, error)
	// Counts are the current counts of all queues, in one request.
	Counts(ctx context.Context) (map[model.QueueRef]model.QueueCounts, error)
}

// Broker looks at messages and acts on them.
type Broker interface {
	Peek(ctx context.Context, plan model.PeekPlan) (model.Peeked, error)
	// Execute runs a plan. progress is called from another goroutine, about ten times a second and once at the end.
	Execute(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error)
	// Undo takes a record back. entries calls with each entry of it.
	Undo(ctx context.Context, plan model.UndoPlan, entries func(func(*model.Entry) error) error, progress func(model.Account)) (model.Account, error)
	// Read looks at every message that is in a queue at the start, one at a time.
	Read(ctx context.Context, plan model.PeekPlan, each func(*model.Message) error) (stopped string, err error)
	// Tap shows each message that passes the exchanges of a plan, until ctx ends. see gets each, in their order, with the time at which it
	// came; tell is called from another goroutine when the tap works, and then about four times a second. A plan that comes over follow
	// replaces the bindings. The error says why it ended early.
	Tap(ctx context.Context, plan model.TapPlan, follow <-chan model.TapPlan, see func(m *model.Message, at time.Time), tell func(model.TapCounts)) error
	// Probe sends a marked message through a flow and follows it; tell gets each step as it happens. An error means that nothing was sent.
	Probe(ctx context.Context, plan model.ProbePlan, tell func(model.ProbeStep)) (model.ProbeResult, error)
	// Count counts queues exactly and at once; those that are gone or exclusive to others are left out.
	Count(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
	// Held are the queues of which dlxtop itself held messages at any time since then.
	Held(since time.Time) map[model.QueueRef]bool
	// User is the connected user.
	User() string
	// Address is the broker's host:port, as the journal names it.
	Address() string
}

// Files are files of messages. Errors about a file wrap model.ErrFile.
type Files interface {
	// Create writes messages into a new file. n is how many. messages calls with each of them.
	Create(path string, messages func(each func(*model.Message) error) error) (n int, err error)
}

// Journal is what was done.
type Journal interface {
	Records(ctx context.Context, limit int) ([]model.Record, error)
	Record(ctx context.Context, id int64) (model.Record, error)
	Unfinished(ctx context.Context) ([]model.Record, error)
	Entries(ctx context.Context, id int64, each func(*model.Entry) error) error
}
