package plan

import (
	"cmp"
	"slices"
	"strings"
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

// Account is the exact account of an execution. Moved + Dropped + Refused + Returned + Unknown + Gone + Held = Planned,
// unless the execution was stopped: then the rest was not touched.
type Account struct {
	Operation Operation
	JournalID int64 // the record in the journal; 0 without one
	From      model.QueueRef
	Planned   int
	Parts     []Account // of an action on several queues, as far as it came
	Moved     int
	Dropped   int
	Refused   int
	Returned  int
	Unknown   int
	Arrived   int          // those of them whose copies the broker confirmed: only their originals are uncertain
	Converted int          // moved or dropped messages of AMQP 1.0, whose copies lack parts
	Gone      int          // chosen messages that were no longer in the queue
	Held      int          // the same while others held messages of the queue: they may be there, and are not touched
	Rescued   peek.Rescued // those not selected, or not acted on, that were at the delivery limit of the queue
	Problems  []Problem    // for the first messages that were not moved or dropped, at most MaxProblems
	Stopped   string       // why the execution ended early, "" when it did not
	Lost      bool         // that was because its connection, or the node of a queue, was lost
	Resumed   int          // how often it was resumed by itself
	Earlier   int64        // the record before the last of these resumes; 0: none
	Changes   []Change     // how the topology came to differ from the plan; with Stopped, that is why it ended
	Copies    []LeftCopies // what refusals left beside the originals, by the full queue
	Strayed   []Stray      // queues outside the plan that messages may have reached nevertheless
	Unguarded string       // its name in ReplayHeader of a replay
	Taken     int          // messages taken out of the queue so far, with those that are given back at the end
	Depth     int64        // ready messages in the queue before the first of them was published, or dropped
	Released  *Released    // what was published, so that it can be recognized; nil: not kept
	CameBack  int          // messages that were seen in their queue again
	Canary    CanaryState  // what it is doing, or has shown at the end
	Mark      string       // of a replay: the name that its messages carry in ReplayHeader
	// why nothing moves at the moment (the broker blocks publishers), otherwise ""; only during the run
	Waiting string
	Elapsed time.Duration
}

// Progress is called with the account of an execution so far.
type Progress = func(Account)

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

// AddCopies counts copies that a refusal left.
func (a *Account) AddCopies(left []LeftCopies) {
	for _, c := range left {
		at := slices.IndexFunc(a.Copies, func(told LeftCopies) bool { return told.By == c.By })
		if at < 0 {
			a.Copies = append(a.Copies[:len(a.Copies):len(a.Copies)], c)
			continue
		}

		a.Copies = slices.Clone(a.Copies) // the account was copied for its progress
		a.Copies[at].Messages += c.Messages
		a.Copies[at].AtMost = a.Copies[at].AtMost || c.AtMost
	}
}

// AddEntry counts what the journal has of one message.
func (a *Account) AddEntry(e *Entry) {
	m := message.Message{Fingerprint: e.Fingerprint}
	m.Properties.MessageID = e.MessageID
	a.Add(e.Outcome, &m, e.Reason)
}

// Without returns an account without the outcomes of another, which are part of it.
func (a Account) Without(b *Account) Account {
	for i, n := range b.counts() {
		*a.counts()[i] -= *n
	}

	a.Arrived = 0
	return a
}

// With merges the accounts of two executions that belong together.
func (a Account) With(b Account) Account {
	a.JournalID = max(a.JournalID, b.JournalID)
	for i, n := range b.counts() {
		*a.counts()[i] += *n
	}

	a.Converted += b.Converted
	a.Arrived += b.Arrived
	a.Rescued = a.Rescued.With(b.Rescued)
	a.Problems = slices.Concat(a.Problems, b.Problems)
	a.Problems = a.Problems[:min(len(a.Problems), MaxProblems)]
	a.AddCopies(b.Copies)
	a.Strayed = slices.Concat(a.Strayed, b.Strayed)
	a.Stopped, a.Lost = cmp.Or(a.Stopped, b.Stopped), a.Lost || b.Lost
	a.Resumed += b.Resumed
	a.Waiting = b.Waiting
	a.Elapsed += b.Elapsed
	return a
}

// outcomes say how many messages had each outcome.
func (a *Account) outcomes() (said []string) {
	for _, count := range []struct {
		n    int
		what string
	}{
		{a.Arrived, "arrived"},
		{a.Moved, a.Operation.Done()},
		{a.Dropped, "dropped"},
		{a.Refused, "refused"},
		{a.Returned, "returned"},
		{a.Unknown - a.Arrived, "unknown"},
		{a.Gone, "gone"},
		{a.Held, "held by another consumer"},
	} {
		if count.n > 0 {
			said = append(said, model.Count(count.n)+" "+count.what)
		}
	}

	return said
}

// Words say what became of all planned messages: "126 moved, 1 unknown, 373 untouched".
func (a *Account) Words() string {
	said := a.outcomes()
	if rest := a.Planned - a.Done(); rest > 0 {
		said = append(said, model.Count(rest)+" untouched")
	}

	return strings.Join(said, ", ")
}

// Resumable reports whether a resume may continue it. One whose canary came back is not for that.
func (a *Account) Resumable() bool {
	early := a.Stopped != "" && a.Canary.Phase != CanaryFailed
	return a.JournalID > 0 && (early || a.Unknown > 0)
}

// Done returns the progress of the execution: the number of messages that are settled, known outcome or not.
func (a *Account) Done() (n int) {
	for _, count := range a.counts() {
		n += *count
	}
	return n
}

func (a *Account) counts() []*int {
	return []*int{&a.Moved, &a.Dropped, &a.Refused, &a.Returned, &a.Unknown, &a.Gone, &a.Held}
}

// Complete reports whether everything planned was moved or dropped, went nowhere else as far as is known, and no other
// message was lost from the queue for it.
func (a *Account) Complete() bool {
	guarded := len(a.Strayed) == 0 && a.Unguarded == ""
	done := a.Stopped == "" && a.Moved+a.Dropped == a.Planned
	return done && guarded && a.Rescued.Copies()
}
