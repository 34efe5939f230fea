package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Record is one action in the journal: who did what, when, to how many messages, with what outcome.
type Record struct {
	ID        int64 // counts up from 1 and is never used again
	Operation Operation
	From      model.QueueRef // the queue that the messages were taken out of; of an undo and an import: that they went to
	To        string         // where a replay went, as --to names it; "" otherwise
	User      string         // the user of the broker
	Login     string         // the user of the machine; "": not kept
	Reason    string         // why, in that person's words; "": not given
	Broker    string         // its host:port
	Cluster   string         // the name of its cluster; "": not known
	Began     time.Time      // to the millisecond
	Ended     time.Time      // zero: it did not end, or has not yet
	Planned   int
	Entries   int     // messages whose intention was written down
	Running   bool    // it has not ended, and the program that does it is alive
	Undoes    int64   // of an undo: the record that it takes back; 0 otherwise
	Undone    int     // messages that undos brought back
	Resumes   int64   // the record that this one goes on with; 0: none
	ResumedBy int64   // the record that goes on with this one; 0: none
	Session   string  // the program that did it, in the names of its connections; "": not kept
	Edit      string  // the jq program that changed the messages; "": there was none
	Intent    *Intent // what was planned; nil: not kept, or not read (Records leaves it out)
	Sequel    *Sequel // of a replay: whether it worked; nil: it was not followed
	Account   Account // of what ended; of what did not: the outcomes that were written down
	// OtherPrints: its fingerprints are of another kind than message.FingerprintKind, so that none of its messages can be
	// recognized by them.
	OtherPrints bool
}

// On reports whether it was done on the broker at this address, of this cluster: the same address leads to another
// broker after a while, as those of port-forwards do. A name that is not known ("") is any.
func (r *Record) On(broker, cluster string) bool {
	return r.Broker == broker && (r.Cluster == cluster || r.Cluster == "" || cluster == "")
}

// brokerWords name a broker and its cluster, where that is known.
func brokerWords(broker, cluster string) string {
	if cluster == "" {
		return broker
	}
	return broker + " (cluster " + cluster + ")"
}

// Who is the person, the user and the broker, for people.
func (r *Record) Who() string {
	if r.Login == "" {
		return r.User + "@" + r.Broker
	}
	return r.Login + " as " + r.User + "@" + r.Broker
}

// Texts are what a record is searched by.
func (r *Record) Texts() []string {
	return []string{string(r.Operation), r.From.String(), r.To, r.Who(), r.Told(), r.Reason}
}

type reasonKey struct{}

// WithReason has the records of all that is done within a context say why.
func WithReason(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, reasonKey{}, strings.TrimSpace(reason))
}

// ReasonOf is the reason that WithReason gave; "": none.
func ReasonOf(ctx context.Context) string {
	reason, _ := ctx.Value(reasonKey{}).(string)
	return reason
}

// Unfinished reports whether the program ended in the middle of the action, so that it is not certain how far it came.
func (r *Record) Unfinished() bool { return r.Ended.IsZero() && !r.Running }

// Uncertain is how many messages have an intention but no outcome.
func (r *Record) Uncertain() int {
	if r.Unfinished() {
		return max(r.Entries-r.Account.Done(), 0) + r.Account.Unknown
	}
	return r.Account.Unknown
}

// Told is the outcome in words.
func (r *Record) Told() string {
	a := &r.Account
	var counts []string
	for _, count := range []struct {
		n    int
		what string
	}{
		{a.Moved, doneWord[r.Operation]},
		{a.Dropped, "dropped"},
		{a.Refused, "refused"},
		{a.Returned, "returned"},
		{r.Uncertain(), "unknown"},
		{a.Gone, "gone"},
	} {
		if count.n > 0 {
			counts = append(counts, model.Count(count.n)+" "+count.what)
		}
	}
	words := strings.Join(counts, ", ")
	switch {
	case words == "":
		words = "nothing was changed"
	case a.Stopped != "":
		words += "; it ended early"
	}
	for _, s := range a.Strayed {
		words += model.Sayf("; up to %s may also be in %s", model.Count(s.Messages), s.Queue)
	}
	if after := r.Sequel.Short(); after != "" && r.Undone == 0 { // what is taken back is not waited for
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

// ToldSince is Told, with what other records did about it.
func (r *Record) ToldSince() string {
	words := r.Told()
	if r.Undone > 0 {
		words += "; " + model.Count(r.Undone) + " undone"
	}
	if r.ResumedBy > 0 {
		words += fmt.Sprintf("; resumed as %d", r.ResumedBy)
	}
	return words
}

// What is what was done, and to which record: "undo of 7".
func (r *Record) What() string {
	switch {
	case r.Resumes > 0:
		return fmt.Sprintf("%s, on %d", r.Operation, r.Resumes)
	case r.Undoes > 0:
		return fmt.Sprintf("%s of %d", r.Operation, r.Undoes)
	}
	return string(r.Operation)
}

// State is what became of one message, in words.
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

// Interrupted says of an unfinished action that it is one.
func (r *Record) Interrupted() string {
	return model.Sayf("dlxtop ended during the %s %d of %s on %s (%s)", r.Operation, r.ID, r.From,
		model.Printable(r.Broker), r.Began.Format("2006-01-02 15:04:05"))
}

// Certain says of an unfinished action what is certain and what is not: one sentence each.
func (r *Record) Certain() (said []string) {
	if !r.Unfinished() {
		return nil
	}
	a := &r.Account
	if n := a.Moved + a.Dropped; n > 0 {
		words := "certain: " + model.Count(n) + " " + doneWord[r.Operation]
		if stayed := a.Refused + a.Returned; stayed > 0 && r.Operation != Import {
			words += ", " + model.Count(stayed) + " stayed where they were"
		}
		said = append(said, words)
	}
	if n := r.Uncertain(); n > 0 {
		where := map[Operation]string{
			Drop:   "each is in the queue, or only in the journal",
			Replay: "each is in the queue, where it was sent, or in both",
			Move:   "each is in the queue, where it was sent, or in both",
			Undo:   "each is back in the queue, or not, or in two places",
			Import: "each is in the queue, or not; the file has them all",
			Rescue: "each is in the queue, or only in the journal",
		}[r.Operation]
		said = append(said, fmt.Sprintf("not certain: %s; %s", model.Plural(n, "message"), where))
	}
	return said
}

// NextStep is what to do about an unfinished action. resume and undo are how it is resumed and undone here, show how
// its messages are listed.
func (r *Record) NextStep(resume, undo, show string) string {
	switch r.Operation {
	case Rescue:
		return fmt.Sprintf("none is lost: %s lists them, %s takes back what was done", show, undo)
	case Import, Undo:
		return resume + " looks for them, and continues after them"
	}
	return fmt.Sprintf("none is lost: %s looks for them and continues, %s takes back what was done", resume, undo)
}

// Done is what was done with the messages of a record, in a word or two.
func (r *Record) Done() string { return doneWord[r.Operation] }

var doneWord = map[Operation]string{
	Drop: "dropped", Replay: "moved", Move: "moved", Undo: "brought back",
	Import: "imported", Rescue: "rescued",
}

// Entry is one message in the journal: what was to be done with it, everything that is needed to take that back, and
// what became of it.
type Entry struct {
	// Position is the place in the queue at the time of the action, 1 is its head. It identifies the entry within its
	// record.
	Position    int
	MessageID   string
	Fingerprint message.Fingerprint // of the message as it was
	Address     model.Address       // where it was published last: a restored message gets the queue's name instead

	Message *message.Message // complete: of a drop, and of a replay when the journal keeps everything; else nil
	Sent    *Sent            // of what was published, else nil

	Copies []Copy // of a replay: what is not to be sent once more
	Stays  bool   // it is such a copy, and was never to be sent

	Undoes  int // of an undo: the position of the entry that it takes back
	Outcome Outcome
	Reason  string // of the outcome, "" when there is nothing to say
	Undone  bool   // an undo has brought it back
	// Undoing are undos of it that ended without telling its outcome: it may have been brought back by one of these.
	Undoing []Attempt
	Claimed int64 // the undo that brings it back at this moment; 0: none does
	// Damaged is why the journal's text of it cannot be read, "" when it can. Then of all else at most the position is
	// known.
	Damaged string
}

// formerHeaders are what is known of the headers that the message had.
func (e *Entry) formerHeaders() model.Table {
	switch {
	case e.Message != nil:
		return e.Message.Headers
	case e.Sent != nil:
		return e.Sent.Former.Headers
	}
	return nil
}

// Readable is an error when the entry is damaged. Only what needs every entry of a record asks.
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
	// Of a message that was edited or taken out of an envelope; nil otherwise:
	Changed []string // what was changed beyond Former, in words
	Removed []string // headers of Former that are no longer there
}

// Settled is the outcome of one entry.
type Settled struct {
	Position int
	Outcome  Outcome
	Reason   string
}

// ErrNoRecord is that there is no record with a number.
var ErrNoRecord = errors.New("the journal has no record")

// ErrJournal is that the journal cannot be used. Errors that wrap it are one sentence with the next step.
var ErrJournal = errors.New("the journal")
