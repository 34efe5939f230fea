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

// Records are what was done. Errors that a person can act on wrap plan.ErrJournal or plan.ErrNoRecord.
type Records interface {
	Replays
	Records(ctx context.Context, limit int) ([]plan.Record, error)
	Record(ctx context.Context, id int64) (plan.Record, error)
	Unfinished(ctx context.Context) ([]plan.Record, error)
	// Chain are the records that go on with each other, from the first one on, with their intents.
	Chain(ctx context.Context, id int64) ([]plan.Record, error)
	Entries
}

// Entries are the messages of records.
type Entries interface {
	Entries(ctx context.Context, id int64, each func(*plan.Entry) error) error
}

// Recorder keeps what an execution is about to do, on disk before it is done.
type Recorder interface {
	Replays
	Entries
	// Find is what finds the entries of a record by their position, as they were written.
	Find(ctx context.Context, record int64) (func(position int) (plan.Entry, error), error)
	// Check proves that it can be written.
	Check(ctx context.Context) error
	// Begin writes down that an action begins, and returns its number.
	Begin(ctx context.Context, record plan.Record) (int64, error)
	// Claim begins an undo with those of the entries that no other undo has. The error is a *plan.ClaimedError when
	// there are none.
	Claim(ctx context.Context, record plan.Record, claim plan.Claim) (id int64, granted []int, err error)
	// Resume begins a record that goes on with another one, and writes down what was found out about the messages of
	// those before it. The error is a *plan.ClaimedError when somebody else has that.
	Resume(ctx context.Context, record plan.Record, found map[int64][]plan.Settled) (int64, error)
	// Amend writes down what was found out about messages of a record that has ended.
	Amend(id int64, settled []plan.Settled) error
	// Write writes intentions and outcomes down. They are durable when it returns nil.
	Write(id int64, entries []plan.Entry, settled []plan.Settled) error
	// Settle writes outcomes down, fast: they survive a kill of this program when it returns nil, and a loss of power
	// from the next Write on.
	Settle(id int64, settled []plan.Settled) error
	// Follow writes down what became of the messages of a replay afterwards. The last one counts.
	Follow(id int64, s plan.Sequel) error
	// Finish writes down how the action ended.
	Finish(id int64, settled []plan.Settled, account plan.Account) error
}

// Files are files of messages. Errors about a file wrap message.ErrFile.
type Files interface {
	// Create writes messages into a new file. n is how many. messages calls with each of them.
	Create(path string, messages func(each func(*message.Message) error) error) (n int, err error)
	// Read calls with each message of a file.
	Read(ctx context.Context, path string, each func(*message.Message) error) error
}

// Index is what is kept of failed queues that were read, under a name for each. Load brings nil when there is nothing;
// Save with nothing keeps nothing.
type Index interface {
	Load(name string) ([]byte, error)
	Save(name string, text []byte) error
}
