package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Record is one action in the journal: who did what, when, to how many messages, with what outcome.
type Record struct {
	ID        int64 // counts up from 1 and is never reused
	Operation Operation
	From      model.QueueRef // the queue that the messages came from; for an undo and an import: the one that they went to
	To        string         // where a replay went, as --to names it; otherwise ""
	User      string         // the user on the broker
	Login     string         // the user on the machine; "": not kept
	Reason    string         // why, in that person's words; "": not given
	Broker    string         // its host:port
	Cluster   string         // its cluster's name; "": unknown
	Began     time.Time      // to the millisecond
	Ended     time.Time      // zero: it did not end, or has not yet
	Planned   int
	Entries   int     // messages whose intention was recorded
	Running   bool    // it has not ended, and its program is alive
	Undoes    int64   // for an undo: the record that it undoes; otherwise 0
	Undone    int     // messages that undos brought back
	Resumes   int64   // the record that this one resumes; 0 for none
	ResumedBy int64   // the record that resumes this one; 0 for none
	Parts     []int64 // the records of the action on several queues that it is one of, with its own; empty: it is alone
	Session   string  // the program that did it, as in the names of its connections; "": not kept
	Edit      string  // the jq program that changed the messages; "" for none
	Intent    *Intent // what was planned; nil: not kept, or not read (Records leaves it out)
	Sequel    *Sequel // whether a replay worked; nil: it was not followed
	Account   Account // the final one; before the end: the outcomes recorded so far
	// OtherPrints: its fingerprints are of a kind other than message.FingerprintKind, so its messages cannot be
	// recognized.
	OtherPrints bool
}

// On reports whether it was done on the broker at this address, of this cluster: an address may lead to another broker
// later, as with port-forwards. An unknown name ("") matches any.
func (r *Record) On(broker, cluster string) bool {
	return r.Broker == broker && (r.Cluster == cluster || r.Cluster == "" || cluster == "")
}

// brokerWords name a broker and, where known, its cluster.
func brokerWords(broker, cluster string) string {
	if cluster == "" {
		return broker
	}
	return broker + " (cluster " + cluster + ")"
}

// Who describes the person, the user and the broker.
func (r *Record) Who() string {
	if r.Login == "" {
		return r.User + "@" + r.Broker
	}
	return r.Login + " as " + r.User + "@" + r.Broker
}

// Person returns who did it: the user on the machine, or else on the broker.
func (r *Record) Person() string { return cmp.Or(r.Login, r.User) }

// Where returns where messages went, by name: for an undo and an import the queue that got them; "" for a drop.
func (r *Record) Where() string {
	if r.Operation == Undo || r.Operation == Import {
		return r.From.Name
	}
	return strings.TrimPrefix(r.To, string(target.ToQueue)+":")
}

// Texts returns the texts in which a record is searched.
func (r *Record) Texts() []string {
	return []string{string(r.Operation), r.From.String(), r.To, r.Who(), r.Told(), r.Reason}
}

type reasonKey struct{}

// WithReason makes records of actions within the context keep this reason.
func WithReason(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, reasonKey{}, strings.TrimSpace(reason))
}

// ReasonOf returns the reason from WithReason; "" without one.
func ReasonOf(ctx context.Context) string {
	reason, _ := ctx.Value(reasonKey{}).(string)
	return reason
}

// Unfinished reports whether the program ended in the middle of the action, so that its progress is uncertain.
func (r *Record) Unfinished() bool { return r.Ended.IsZero() && !r.Running }

// Uncertain returns how many messages have an intention but no outcome.
func (r *Record) Uncertain() int {
	if r.Unfinished() {
		return max(r.Entries-r.Account.Done(), 0) + r.Account.Unknown
	}
	return r.Account.Unknown
}

func (r *Record) Told() string {
	a := r.Account
	a.Operation, a.Unknown = r.Operation, r.Uncertain()
	words := strings.Join(a.outcomes(), ", ")
	if a.Stopped != "" && r.ResumedBy == 0 {
		words = a.Words()
	}

	switch {
	case words == "":
		words = "nothing was changed"
	case a.Stopped != "":
		words += "; it ended early"
	}

	for _, c := range a.Copies {
		words += model.Sayf("; %v (copy|copies) left in %s", c.Messages, c.In)
	}
	for _, s := range a.Strayed {
		words += model.Sayf("; up to %v may also be in %s", s.Messages, s.Queue)
	}
	if after := r.Sequel.Short(); after != "" && r.Undone == 0 { // an undone replay is not followed
		words += "; " + after
	}

	switch {
	case r.Running:
		return words + "; it is running"
	case r.Unfinished():
		return words + "; unfinished"
	}

	return words
}

// ToldSince is Told, with what later records did about it.
func (r *Record) ToldSince() string {
	words := r.Told()
	if r.Undone > 0 {
		words += model.Sayf("; %v undone", r.Undone)
	}
	if r.ResumedBy > 0 {
		words += fmt.Sprintf("; resumed as %d", r.ResumedBy)
	}

	return words
}

// What returns the operation and the record that it concerns: "undo of 7".
func (r *Record) What() string {
	switch {
	case r.Resumes > 0:
		return fmt.Sprintf("%s, on %d", r.Operation, r.Resumes)
	case r.Undoes > 0:
		return fmt.Sprintf("%s of %d", r.Operation, r.Undoes)
	}

	return string(r.Operation)
}

// State returns what happened to one message, in words.
func (r *Record) State(e *Entry) string {
	words := string(e.Outcome)
	switch {
	case e.Damaged != "":
		return "damaged in the journal: " + e.Damaged
	case e.Undone:
		words += ", brought back"
	case e.Outcome == "" && r.Unfinished():
		words = "not certain"
	case e.Outcome == "" && r.Running:
		words = "under way"
	case e.Outcome == "":
		words = "untouched"
	}

	if e.Reason != "" {
		words += ": " + e.Reason
	}

	return words
}

// Interrupted says that an action is unfinished.
func (r *Record) Interrupted() string {
	return model.Sayf("dlxtop ended during the %s %d of %s on %v (%s)", r.Operation, r.ID, r.From,
		r.Broker, r.Began.Format("2006-01-02 15:04:05"))
}

// Certain says what is certain about an unfinished action and what is not: one sentence each.
func (r *Record) Certain() (said []string) {
	if !r.Unfinished() {
		return nil
	}
	a := &r.Account
	if n := a.Moved + a.Dropped; n > 0 {
		words := model.Sayf("certain: %v %s", n, r.Operation.Done())
		if stayed := a.Refused + a.Returned; stayed > 0 && r.Operation != Import {
			words += model.Sayf(", %v stayed where they were", stayed)
		}
		said = append(said, words)
	}

	if n := r.Uncertain(); n > 0 {
		where := operationWords[r.Operation].unsure
		said = append(said, model.Sayf("not certain: %v message(s); each is %s", n, where))
	}

	return said
}

// NextStep returns what to do about an unfinished action. resume, undo and show say how to resume it, undo it and list
// its messages here.
func (r *Record) NextStep(resume, undo, show string) string {
	switch r.Operation {
	case Rescue:
		return fmt.Sprintf("none is lost: %s lists them, %s takes back what was done", show, undo)
	case Import, Undo:
		return resume + " looks for them, and continues after them"
	}

	return fmt.Sprintf("none is lost: %s looks for them and continues, %s takes back what was done", resume, undo)
}

// Done returns what is done with each message, in a word or two.
func (o Operation) Done() string { return operationWords[o].done }

// operationWords are what was done with a message, and where one is whose outcome is unknown.
var operationWords = map[Operation]struct{ done, unsure string }{
	Drop:   {"dropped", "in the queue, or only in the journal"},
	Replay: {"moved", "in the queue, where it was sent, or in both"},
	Move:   {"moved", "in the queue, where it was sent, or in both"},
	Undo:   {"brought back", "back in the queue, or not, or in two places"},
	Import: {"imported", "in the queue, or not; the file has them all"},
	Rescue: {"rescued", "in the queue, or only in the journal"},
}

// Entry is one message in the journal: what was to be done with it, everything needed to undo that, and the outcome.
type Entry struct {
	// Position is the place in the queue at the time of the action; 1 is the head. It identifies the entry within its
	// record.
	Position    int
	MessageID   string
	Fingerprint message.Fingerprint // of the message as it was
	Address     model.Address       // where it was published last; a restored message gets the queue's name instead

	Message *message.Message // complete: for a drop, and for a replay when the journal keeps everything; otherwise nil
	Sent    *Sent            // what was published; nil for a drop

	Copies []Copy // of a replay: copies that must not be sent again
	Stays  bool   // it is such a copy, and was never to be sent

	Undoes  int // of an undo: the position of the entry that it undoes
	Outcome Outcome
	Reason  string // for the outcome, "" without one
	Undone  bool   // an undo has brought it back
	// Undoing are undos of it with an unknown outcome: one of them may have brought it back.
	Undoing []Attempt
	Claimed int64 // the undo that is bringing it back at the moment; 0 for none
	// Damaged is why its text in the journal is unreadable, "" when it is readable. Then at most the position is known.
	Damaged string
}

// formerHeaders returns the headers that the message had, as far as known.
func (e *Entry) formerHeaders() model.Table {
	switch {
	case e.Message != nil:
		return e.Message.Headers
	case e.Sent != nil:
		return e.Sent.Former.Headers
	}

	return nil
}

// Readable returns an error for a damaged entry. Only code that needs every entry of a record calls it.
func (e *Entry) Readable(record int64) error {
	if e.Damaged == "" {
		return nil
	}
	return fmt.Errorf("an entry of record %d is damaged (%s): `dlxtop journal show %d` lists the others", record,
		e.Damaged, record)
}

// Sent is a message as it was published, and what was changed in it.
type Sent struct {
	Fingerprint message.Fingerprint
	To          model.Address
	Reached     []string // queues of the same vhost
	Former      Former
	// For a message that was edited or taken out of an envelope; otherwise nil:
	Changed []string // what was changed beyond Former, in words
	Removed []string // headers of Former that are no longer there
}

// VisitEntry is called with an entry; its error ends the reading.
type VisitEntry = func(*Entry) error

type Settled struct {
	Position int
	Outcome  Outcome
	Reason   string
}

// ErrNoRecord means that there is no record with a number.
var ErrNoRecord = errors.New("the journal has no record")

// ErrJournal means that the journal cannot be used. Errors that wrap it are one sentence with the next step.
var ErrJournal = errors.New("the journal")
