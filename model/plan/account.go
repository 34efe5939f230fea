package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Outcome is what happened to one message of a plan.
type Outcome string

// The outcomes. Only moved and dropped take a message out of its queue: in every other case the original is still
// there.
const (
	Moved   Outcome = "moved"   // the broker confirmed the publish, and the original was acknowledged
	Dropped Outcome = "dropped" // acknowledged
	// the broker nacked it or closed the channel because of it, or the plan does not allow its target
	Refused  Outcome = "refused"
	Returned Outcome = "returned" // no queue received it (basic.return)
	// the connection or a queue's node was lost while it was in flight: it may be in both queues, never in none
	Unsure Outcome = "unknown"
)

// Account is the exact account of an execution. Moved + Dropped + Refused + Returned + Unknown + Gone = Planned, unless
// the execution was stopped: then the rest was not touched.
type Account struct {
	Operation Operation
	JournalID int64 // the record in the journal; 0 without one
	From      model.QueueRef
	Planned   int
	Moved     int
	Dropped   int
	Refused   int
	Returned  int
	Unknown   int
	Converted int          // moved or dropped messages of AMQP 1.0, whose copies lack parts
	Gone      int          // chosen messages that were no longer in the queue
	Rescued   peek.Rescued // those not selected, or not acted on, that were at the delivery limit of the queue
	Problems  []Problem    // for the first messages that were not moved or dropped, at most MaxProblems
	Stopped   string       // why the execution ended early, "" when it did not
	Changes   []Change     // how the topology came to differ from the plan; with Stopped, that is why it ended
	Strayed   []Stray      // queues outside the plan that messages may have reached nevertheless
	Unguarded string       // its name in ReplayHeader of a replay
	CameBack  int          // messages of a canary that are back in their queue
	Canary    CanaryState  // what it is doing, or has shown at the end
	Mark      string       // of a replay: the name that its messages carry in ReplayHeader
	// why nothing moves at the moment (the broker blocks publishers), otherwise ""; only during the run
	Waiting string
	Elapsed time.Duration
}

// MaxProblems bounds Account.Problems: the counts are exact, the examples need not be all.
const MaxProblems = 100

// Problem is why one message was not moved or dropped.
type Problem struct {
	MessageID   string
	Fingerprint message.Fingerprint
	Outcome     Outcome
	Reason      string // one sentence, with the broker's own words
}

// Add counts one outcome. It keeps the reasons of the first MaxProblems messages that have one.
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

// With merges the accounts of two executions that belong together.
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

// Done is the progress of the execution: the number of messages that are settled, known outcome or not.
func (a *Account) Done() int {
	return a.Moved + a.Dropped + a.Refused + a.Returned + a.Unknown + a.Gone
}

// Complete reports whether everything planned was moved or dropped, and went nowhere else, as far as is known.
func (a *Account) Complete() bool {
	return a.Stopped == "" && len(a.Strayed) == 0 && a.Unguarded == "" && a.Moved+a.Dropped == a.Planned
}
