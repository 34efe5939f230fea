package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/mend"
)

// Refusal is why a plan must not run; nil when it may.
type Refusal = model.Refusal

// Objections to where one message goes, like the problems of package target.

// NotMended: the program that changes messages fails on this one.
type NotMended struct{ Why *mend.Problem }

func (o NotMended) Words() string { return o.Why.Error() }

// Double: a copy of it is replayed, or was, from this queue.
type Double struct {
	Queue  model.QueueRef
	Record int64 // the replay ended in the middle: resuming this record finds out; 0 for any other
}

func (o Double) Words() string {
	if o.Record > 0 {
		return model.Sayf("dlxtop journal resume %d: that replay of %s ended in the middle, and may have sent it; resume "+
			"finds out, and continues (--doubles replays it anyway)", o.Record, o.Queue)
	}
	return model.Sayf("a copy from %s is replayed to the same queue, or was, or may have been: to process both, replay "+
		"doubles, too (--doubles)", o.Queue)
}

// Against returns a refusal with one final objection.
func Against(format string, values ...any) Refusal { return Refusal{model.Saidf(format, values...)} }

// Objections to the whole plan.

func targetDown(q *model.Queue) model.Said {
	return model.Saidf("%s is not available: %s", q.QueueRef, q.OutageWords())
}

// tooSlow: messages would be held for longer than RabbitMQ allows.
func tooSlow(most int, hold time.Duration, timeout model.Setting[time.Duration]) model.Said {
	allowed := timeout.String()
	if timeout.Source.Kind == model.FromDefault {
		allowed += "; the node may set another one, which the API does not show"
	}

	return model.Saidf("at this rate they take longer than %s, and messages that are chosen one by one are held for "+
		"all that time, beyond the consumer timeout, %s: choose a higher rate, or %v message(s) at most (--limit)", hold,
		allowed, most)
}

// lost: a limit would drop messages, or a second failure would lose them.
type lost struct {
	Remain remains
	Harm
}

// remains is where lost messages are still kept, and so what insisting would do.
type remains string

const (
	nowhere       remains = "without the journal, lost messages cannot be brought back"
	inJournal     remains = "the journal keeps the complete messages, and an undo brings back those that are lost"
	inJournalOnly remains = "lost messages are then only in the journal" // for an undo
	inFile        remains = "lost messages are then only in the file"    // for an import
)

func (o lost) Words() string {
	words := model.Mapped(o.Losses, (*loss.ByLimit).Words)
	for i := range o.Full {
		if o.Full[i].Loses() {
			words = append(words, o.Full[i].Words())
		}
	}

	words = append(words, model.Mapped(o.Again, (*loss.SecondFailure).Words)...)
	return strings.Join(words, "; ")
}

func (o lost) Override() string { return string(o.Remain) }

// full: targets refuse messages, and some leave copies of what they refuse.
type full []loss.ByRefusal

func (o full) Words() string {
	return strings.Join(model.Mapped(o, (*loss.ByRefusal).Words), "; ")
}

func (o full) Override() string {
	if slices.ContainsFunc(o, func(r loss.ByRefusal) bool { return r.Copies() }) {
		return "refused messages stay where they are, and their copies in those queues"
	}
	return "refused messages stay where they are"
}

// Objections to an undo or a resume.

// StillRuns returns why a running record can be neither undone nor resumed.
func StillRuns(r *Record) model.Said {
	return model.Saidf("the %s %d is still running: wait for its end, or stop it", r.Operation, r.ID)
}

// DoneElsewhere returns why a record of another broker cannot; hint says how to override that.
func DoneElsewhere(r *Record, broker, cluster, hint string) model.Said {
	return model.Saidf("it was done on %v, and this is %v: connect to that broker%s",
		brokerWords(r.Broker, r.Cluster), brokerWords(broker, cluster), hint).
		Insisting("dlxtop treats it as the same broker")
}

const thereTwice = "messages that are already there are then there twice"

// maybeThere: the queue could not be read to its end.
func maybeThere(n int) model.Said {
	return model.Saidf("%v message(s) may already be in the queue, and the queue could not be read to its end; insist "+
		"to bring back all the same, which may make duplicates", n).Insisting(thereTwice)
}

type NothingLeft struct {
	Skips  []Skip
	Copies []LeftCopies // what the record's refusals left
}

func (o NothingLeft) Words() string {
	words := "there is nothing to undo"
	for _, skip := range o.Skips {
		words += model.Sayf("; %v %s", skip.Messages, skip.Words())
	}
	for i := range o.Copies {
		words += "; " + o.Copies[i].Words()
	}

	return words
}
