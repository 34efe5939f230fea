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
func refuseUnless(refusal *Refusal, warnings *[]Warning, o ObjectionKind, insisted bool) {
	switch {
	case insisted:
		*warnings = append(*warnings, insistedOn(Objection{o}))
	case !refusal.Refused() || refusal.Overridable():
		*refusal = append(*refusal, Objection{o})
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

// Against is a refusal for a reason.
func Against(format string, values ...any) Refusal { return refuse(model.Saidf(format, values...)) }

// What follows speaks against all of a plan.

// Unreadable is a peek's refusal as that of a plan.
func Unreadable(look peek.Refusal) (r Refusal) {
	for _, o := range look {
		r = append(r, Objection{o})
	}
	return r
}

func targetDown(queue model.QueueRef, down model.Down) model.Said {
	return model.Saidf("%s is not available: %s", queue, down.Words())
}

// canaryCounted: its looks would use up the delivery limit.
func canaryCounted(queue model.QueueRef, limit, used int64) model.Said {
	return model.Saidf("no canary possible: it takes the remaining messages out up to %d times, each counts against the "+
		"delivery limit %d of %s, and one has used %d of it", canaryDeliveries, limit, queue, used)
}

// tooSlow: they would be held for longer than RabbitMQ allows.
func tooSlow(most int) model.Said {
	return model.Saidf("at this rate they take longer than %s, and messages that are chosen one by one are held for all "+
		"that time, which RabbitMQ allows for 30 minutes: choose a higher rate, or %s at most (--limit)", LongestSpread,
		messages(most))
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

// What follows speaks against an undo or a resume.

// StillRuns is why a record that runs is not taken back or gone on with.
func StillRuns(r *Record) model.Said {
	return model.Saidf("the %s %d is still running: wait for its end, or stop it", r.Operation, r.ID)
}

// DoneElsewhere is why a record of another broker is not; hint: how it may be overridden.
func DoneElsewhere(r *Record, broker, cluster, hint string) model.Said {
	return model.Saidf("it was done on %s, and this is %s: connect to that broker%s",
		model.Printable(brokerWords(r.Broker, r.Cluster)), model.Printable(brokerWords(broker, cluster)), hint).
		Insisting("dlxtop treats it as the same broker")
}

const thereTwice = "messages that are already there are then there twice"

// maybeThere, while the queue could not be read to its end.
func maybeThere(n int) model.Said {
	return model.Saidf("%s may already be in the queue, and the queue could not be read to its end; insist to bring back "+
		"all the same, which may make duplicates", messages(n)).Insisting(thereTwice)
}

// thereUnknown: the record has fingerprints of another kind.
func thereUnknown(record int64, n int) model.Said {
	return model.Saidf("%s may already be in the queue, and cannot be recognized there: an earlier version made their "+
		"fingerprints in another way; look for them (`dlxtop journal show %d` lists them), then insist to bring back all "+
		"the same, which may make duplicates", messages(n), record).Insisting(thereTwice)
}

// copiesUnknown: what was sent has fingerprints of another kind.
func copiesUnknown(r *Record) model.Said {
	return model.Saidf("the messages of the %s %d cannot be recognized where they were sent to: an earlier version made "+
		"their fingerprints in another way; `dlxtop journal show %[2]d` lists them, and `dlxtop move` brings back what is "+
		"still there", r.Operation, r.ID)
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
