package plan

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Refusal is why a plan must not run; nil when it may.
type Refusal = model.Refusal[Objection]

// Objection is one reason against a plan, or against the way of a message: a value of the type of its kind.
type Objection struct{ ObjectionKind }

// ObjectionKind is one of the types below. Those that a person may override have Override, too.
type ObjectionKind interface {
	Words() string // the objection in one sentence
}

// Override is what insisting would do, "" when it is not possible.
func (o Objection) Override() string {
	if over, ok := o.ObjectionKind.(interface{ Override() string }); ok {
		return over.Override()
	}
	return ""
}

// Overridable reports whether a person may insist.
func (o Objection) Overridable() bool { return o.Override() != "" }

// refuse is a refusal for one reason.
func refuse(o ObjectionKind) Refusal { return Refusal{{o}} }

// against refuses a plan for a reason, unless there is one already.
func (p *Plan) against(o ObjectionKind) {
	if !p.Refusal.Refused() {
		p.Refusal = refuse(o)
	}
}

// refuseUnless refuses a plan for a reason that can be overridden; who insists is warned instead.
func (p *Plan) refuseUnless(o ObjectionKind, insisted bool) {
	switch {
	case insisted:
		p.warn(insistedOn(Objection{o}))
	case !p.Refusal.Refused() || p.Refusal.Overridable():
		p.Refusal = append(p.Refusal, Objection{o})
	}
}

// What follows speaks against the way of a message, as the problems of target do.

// NotMended: a program that changes messages has no other for it.
type NotMended struct{ Why *mend.Problem }

// Words say why.
func (o NotMended) Words() string { return o.Why.Error() }

// Double: a copy of it is replayed, or was, from this queue.
type Double struct{ Queue model.QueueRef }

// Words say what to do about it.
func (o Double) Words() string {
	return model.Sayf("a copy from %s is replayed to the same queue, or was, or may have been: to process both, replay "+
		"doubles, too (--doubles)", o.Queue)
}

// What follows speaks against all of a plan.

type notReadable struct{ Look peek.Objection }

func (o notReadable) Words() string    { return o.Look.Words() }
func (o notReadable) Override() string { return o.Look.Override() }

// Unreadable is a peek's refusal as that of a plan.
func Unreadable(look peek.Refusal) (r Refusal) {
	for _, o := range look {
		r = append(r, Objection{notReadable{o}})
	}
	return r
}

type sampleGone struct{ Why string }

func (o sampleGone) Words() string { return o.Why + ": read the queue again" }

type importToNone struct{ Queue model.QueueRef }

func (o importToNone) Words() string { return model.Sayf("there is no queue %s (any more)", o.Queue) }

type targetDown struct {
	Queue model.QueueRef
	Down  model.Down
}

func (o targetDown) Words() string {
	return model.Sayf("%s is not available: %s", o.Queue, o.Down.Words())
}

// canaryBlind: they go back into the queue that it would watch.
type canaryBlind struct{}

func (canaryBlind) Words() string {
	return "no canary possible: they go back into the queue they come from, so dlxtop could not recognize one that " +
		"comes back"
}

// canaryCounted: its looks would use up the delivery limit.
type canaryCounted struct {
	Queue       model.QueueRef
	Limit, Used int64 // deliveries
}

func (o canaryCounted) Words() string {
	return model.Sayf("no canary possible: it takes the remaining messages out up to %d times, each counts against the "+
		"delivery limit %d of %s, and one has used %d of it", canaryDeliveries, o.Limit, o.Queue, o.Used)
}

// tooSlow: they would be held for longer than RabbitMQ allows.
type tooSlow struct{ Most int } // messages

func (o tooSlow) Words() string {
	return model.Sayf("at this rate they take longer than %s, and messages that are chosen one by one are held for all that "+
		"time, which RabbitMQ allows for 30 minutes: choose a higher rate, or %s at most (--limit)", LongestSpread,
		messages(o.Most))
}

// lost: a limit would drop messages, or a second failure lose them.
type lost struct {
	Remain remains
	Losses []loss.ByLimit
	Again  []loss.SecondFailure
}

// remains is where messages remain that are lost, and so what insisting would do.
type remains string

const (
	nowhere       remains = "without the journal, lost messages cannot be brought back"
	inJournal     remains = "the journal keeps the complete messages, and an undo brings back those that are lost"
	inJournalOnly remains = "lost messages are then only in the journal" // of an undo: none takes them out of it
	inFile        remains = "lost messages are then only in the file"    // of an import
)

func (o lost) Words() string {
	var words []string
	for i := range o.Losses {
		words = append(words, o.Losses[i].Words())
	}
	for i := range o.Again {
		words = append(words, o.Again[i].Words())
	}
	return strings.Join(words, "; ")
}

func (o lost) Override() string { return string(o.Remain) }

// What follows speaks against an undo.

type isUndo struct{ Record int64 }

func (o isUndo) Words() string {
	return model.Sayf("%d is an undo itself: replay or drop what it brought back", o.Record)
}

type isImport struct {
	Record int64
	Into   model.QueueRef
}

func (o isImport) Words() string {
	return model.Sayf("%d is an import: to remove its messages, drop them from %s", o.Record, o.Into)
}

type stillRuns struct {
	Operation Operation
	Record    int64
}

func (o stillRuns) Words() string {
	return model.Sayf("the %s %d is still running: wait for its end, or stop it", o.Operation, o.Record)
}

type otherBroker struct{ There, Here string }

func (o otherBroker) Words() string {
	return model.Sayf("it was done on %s, and this is %s: connect to that broker, or insist if it is the same one under "+
		"another name", model.Printable(o.There), model.Printable(o.Here))
}

func (otherBroker) Override() string { return "dlxtop treats it as the same broker" }

// backGone: the queue that they came from.
type backGone struct{ Queue model.QueueRef }

func (o backGone) Words() string {
	return model.Sayf("there is no queue %s here any more: declare it again, or look at its vhost, then undo", o.Queue)
}

// maybeThere, while the queue could not be read to its end.
type maybeThere struct{ Messages int }

func (o maybeThere) Words() string {
	return model.Sayf("%s may already be in the queue, and the queue could not be read to its end; insist to bring back all "+
		"the same, which may make duplicates", messages(o.Messages))
}

func (maybeThere) Override() string { return "messages that are already there are then there twice" }

// thereUnknown: the record has fingerprints of another kind.
type thereUnknown struct {
	Record   int64
	Messages int
}

func (o thereUnknown) Words() string {
	return model.Sayf("%s may already be in the queue, and cannot be recognized there: an earlier version made their "+
		"fingerprints in another way; look for them (`dlxtop journal show %d` lists them), then insist to bring back all "+
		"the same, which may make duplicates", messages(o.Messages), o.Record)
}

func (thereUnknown) Override() string { return maybeThere{}.Override() }

// copiesUnknown: what was sent has fingerprints of another kind.
type copiesUnknown struct {
	Operation Operation
	Record    int64
}

func (o copiesUnknown) Words() string {
	return model.Sayf("the messages of the %s %d cannot be recognized where they were sent to: an earlier version made their "+
		"fingerprints in another way; `dlxtop journal show %[2]d` lists them, and `dlxtop move` brings back what is still "+
		"there", o.Operation, o.Record)
}

// NothingLeft: there is nothing to undo.
type NothingLeft struct{ Skips []Skip }

// Words say why.
func (o NothingLeft) Words() string {
	words := "there is nothing to undo"
	for _, skip := range o.Skips {
		words += "; " + model.Count(skip.Messages) + " " + skip.Words()
	}
	return words
}
