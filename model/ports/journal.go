package ports

import (
	"context"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Replays are the copies that replays have sent.
type Replays interface {
	// Replayed are those of a broker ("HOST:PORT") and its cluster, without those that an undo has brought back.
	Replayed(ctx context.Context, broker, cluster string) (*plan.Doubles, error)
}

// Records are the actions in the journal. Errors that a user can act on wrap plan.ErrJournal or plan.ErrNoRecord.
type Records interface {
	Replays
	Records(ctx context.Context, limit int) ([]plan.Record, error)
	Record(ctx context.Context, id int64) (plan.Record, error)
	Unfinished(ctx context.Context) ([]plan.Record, error)
	// Chain are the records that resume each other, from the first one on, with their intents.
	Chain(ctx context.Context, id int64) ([]plan.Record, error)
	Entries
}

type Entries interface {
	Entries(ctx context.Context, id int64, each func(*plan.Entry) error) error
}

// Recorder writes to disk what an execution is about to do, before it does it.
type Recorder interface {
	Replays
	Entries
	// Find returns a function that finds the entries of a record by position, as they were written.
	Find(ctx context.Context, record int64) (func(position int) (plan.Entry, error), error)
	// Check proves that the journal is writable.
	Check(ctx context.Context) error
	// Begin records the beginning of an action, and returns its number.
	Begin(ctx context.Context, record plan.Record) (int64, error)
	// Claim begins an undo with those of the entries that no other undo has claimed. The error is a *plan.ClaimedError
	// when there are none.
	Claim(ctx context.Context, record plan.Record, claim plan.Claim) (id int64, granted []int, err error)
	// Resume begins a record that resumes another one, and records what was found out about the messages of earlier ones.
	// The error is a *plan.ClaimedError when another action has claimed that.
	Resume(ctx context.Context, record plan.Record, found map[int64][]plan.Settled) (int64, error)
	// Amend records what was found out about messages of a record that has ended.
	Amend(id int64, settled []plan.Settled) error
	// Write records intentions and outcomes. They are durable when it returns nil.
	Write(id int64, entries []plan.Entry, settled []plan.Settled) error
	// Settle records outcomes quickly: when it returns nil they survive a kill of this program, but a power failure only
	// from the next Write on.
	Settle(id int64, settled []plan.Settled) error
	// Follow records what happened to the messages of a replay afterwards. The last call counts.
	Follow(id int64, s plan.Sequel) error
	// Finish records how the action ended.
	Finish(id int64, settled []plan.Settled, account plan.Account) error
}

// Files are files of messages. Errors about a file wrap message.ErrFile.
type Files interface {
	// Create writes messages into a new file; messages calls its argument with each of them. n is their number.
	Create(path string, messages func(each func(*message.Message) error) error) (n int, err error)
	// Read calls each with every message of a file.
	Read(ctx context.Context, path string, each func(*message.Message) error) error
}

// Index stores the causes of failed queues that were read, each queue under a name. Load returns nil when there is
// nothing; saving nothing removes the entry.
type Index interface {
	Load(name string) ([]byte, error)
	Save(name string, text []byte) error
}
