package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Outcome is what became of one message of a plan.
type Outcome string

// The outcomes. Only moved and dropped take a message out of its queue: in every other case the original is still
// there.
const (
	Moved   Outcome = "moved"   // the broker confirmed the publish, and the original was acknowledged
	Dropped Outcome = "dropped" // acknowledged
	// the broker nacked it or closed the channel for it, or the plan does not allow its target
	Refused  Outcome = "refused"
	Returned Outcome = "returned" // no queue took it (basic.return)
	// the connection or a queue's node went while it was in flight: it may be in both queues, never in none
	Unsure Outcome = "unknown"
)

// Account is the true account of an execution. Moved + Dropped + Refused + Returned + Unknown + Gone = Planned, unless
// the execution was stopped: then the rest was not touched.
type Account struct {
	Operation Operation
	JournalID int64 // the record in the journal; 0: there is none
	From      model.QueueRef
	Planned   int
	Moved     int
	Dropped   int
	Refused   int
	Returned  int
	Unknown   int
	Converted int          // of those that were moved or dropped: messages of AMQP 1.0, of which parts are missing
	Gone      int          // chosen messages that were no longer in the queue
	Rescued   peek.Rescued // not chosen, or not acted on, and at the delivery limit of the queue
	Problems  []Problem    // the first of the messages that were not moved or dropped, at most MaxProblems
	Stopped   string       // why the execution ended early, "" when it did not
	Changes   []Change     // the topology was not as the plan had it any more: with Stopped, that is why it ended
	Strayed   []Stray      // queues that the plan did not name, and that messages may have reached nevertheless
	Unguarded string       // why nobody could tell whom the last messages reached, "" when that was read, or cannot change
	CameBack  int          // of a canary: those that are in their queue again
	Canary    CanaryState  // what it is doing, or has shown at the end
	Mark      string       // of a replay: the name that its messages have in ReplayHeader
	// why nothing moves at the moment (the broker blocks publishers), "" otherwise; only while it runs
	Waiting string
	Elapsed time.Duration
}

// MaxProblems bounds Account.Problems: the counts are exact, the examples need not be all.
const MaxProblems = 100

// Problem tells why one message was not moved or dropped.
type Problem struct {
	MessageID   string
	Fingerprint message.Fingerprint
	Outcome     Outcome
	Reason      string // one sentence, with the broker's own words
}

// Add counts one outcome. A problem's reason is kept for the first MaxProblems that have one.
func (a *Account) Add(o Outcome, m *message.Message, reason string) {
	switch o {
	case Moved:
		a.Moved++
	case Dropped:
		a.Dropped++
	case Refused:
		a.Refused++
	case Returned:
		a.Returned++
	case Unsure:
		a.Unknown++
	}
	if reason != "" && len(a.Problems) < MaxProblems {
		a.Problems = append(a.Problems, Problem{m.Properties.MessageID, m.Fingerprint, o, reason})
	}
}

// With is the account of two executions that belong together.
func (a Account) With(b Account) Account {
	a.JournalID = max(a.JournalID, b.JournalID)
	a.Moved, a.Dropped, a.Refused = a.Moved+b.Moved, a.Dropped+b.Dropped, a.Refused+b.Refused
	a.Converted += b.Converted
	a.Returned, a.Unknown, a.Gone = a.Returned+b.Returned, a.Unknown+b.Unknown, a.Gone+b.Gone
	a.Rescued = a.Rescued.With(b.Rescued)
	a.Problems = slices.Concat(a.Problems, b.Problems)
	a.Problems = a.Problems[:min(len(a.Problems), MaxProblems)]
	a.Strayed = slices.Concat(a.Strayed, b.Strayed)
	a.Stopped = cmp.Or(a.Stopped, b.Stopped)
	a.Waiting = b.Waiting
	a.Elapsed += b.Elapsed
	return a
}

// Done is the number of messages whose outcome is known or will never be: the progress of the execution.
func (a *Account) Done() int {
	return a.Moved + a.Dropped + a.Refused + a.Returned + a.Unknown + a.Gone
}

// Complete reports whether everything that was planned was moved or dropped, and went nowhere else, as far as can be
// told.
func (a *Account) Complete() bool {
	return a.Stopped == "" && len(a.Strayed) == 0 && a.Unguarded == "" && a.Moved+a.Dropped == a.Planned
}
