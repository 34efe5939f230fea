package plan

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// WarningKind is something that a person might not expect of a plan.
type WarningKind string

// The kinds.
const (
	notJournaled  WarningKind = "not journaled"  // what is dropped is gone
	inAlarm       WarningKind = "in alarm"       // RabbitMQ blocks publishers
	someStay      WarningKind = "some stay"      // messages that have no way
	sameID        WarningKind = "same id"        // as another message that is not the same
	alsoIn        WarningKind = "also in"        // further failed queues
	otherKey      WarningKind = "other key"      // than the message had
	outvotedClue  WarningKind = "outvoted clue"  // what tells another worker than the one that was chosen
	notOpened     WarningKind = "not opened"     // what looks like an envelope
	opensEnvelope WarningKind = "opens envelope" // what is published is not what lies in the queue
	envelopeDoubt WarningKind = "envelope doubt" // what may be other than it was
	goBack        WarningKind = "go back"        // to the end of the queue that they come from
	comeLater     WarningKind = "come later"     // through a buffer
	noConsumer    WarningKind = "no consumer"    // takes them there
	mendsNothing  WarningKind = "mends nothing"  // the program that changes messages
	notTheWorker  WarningKind = "not the worker" // of the flow, and it receives them
	refusesFull   WarningKind = "refuses full"   // a queue that refuses messages when it is full
	expiresThem   WarningKind = "expires them"   // a queue with a TTL
	deletesItself WarningKind = "deletes itself" // a queue, without consumers or unused
	downMeanwhile WarningKind = "down meanwhile" // a recipient
	insistedOn    WarningKind = "insisted"       // on what speaks against it
	losesSome     WarningKind = "loses some"     // by a limit, or at their second failure

	converted WarningKind = "converted" // by RabbitMQ, from AMQP 1.0: a copy lacks parts
	undelayed WarningKind = "undelayed" // they come at once, as the header of the delay is removed
	keptBack  WarningKind = "kept back" // by RabbitMQ, until the time in their header

	canaryCounts WarningKind = "canary counts" // towards a delivery limit
	canaryIdle   WarningKind = "canary idle"   // nothing consumes what it waits for
	canaryEarly  WarningKind = "canary early"  // what fails comes back later than it watches

	hasExpired    WarningKind = "has expired"    // by its framework: the worker discards it
	heldUntilDue  WarningKind = "held until due" // by the worker
	runsEarly     WarningKind = "runs early"     // before it is due
	lastTry       WarningKind = "last try"       // and no retry
	answerLost    WarningKind = "answer lost"    // the queue for it is gone
	twoFrameworks WarningKind = "two frameworks" // left their marks

	notRestored WarningKind = "not restored" // properties that nobody can set
	alsoStrayed WarningKind = "also strayed" // copies stay where they are
	timedAnew   WarningKind = "timed"        // an expiration begins again
	mayBeGone   WarningKind = "may be gone"  // from where they were sent to
	TakesBack   WarningKind = "takes back"   // from where they were sent to
	NotUndone   WarningKind = "not undone"   // some of them
)

// Warning is something that a person might not expect of a plan, with the values that its sentence needs.
type Warning struct {
	Kind      WarningKind
	Queue     model.QueueRef               `json:",omitzero"`
	Queues    []model.QueueRef             `json:",omitempty"` // of alsoIn
	Messages  int                          `json:",omitempty"`
	Consumers int64                        `json:",omitempty"` // of mayBeGone
	After     model.Setting[time.Duration] `json:",omitzero"`  // of noConsumer, expiresThem and deletesItself
	// of canaryEarly and comeLater: in the buffers; of hasExpired, heldUntilDue and runsEarly: since or until then
	Longest   time.Duration     `json:",omitempty"`
	Framework message.Framework `json:",omitempty"`
	Name      string            `json:",omitempty"` // of answerLost: the queue; of twoFrameworks: they
	Watched   time.Duration     `json:",omitempty"` // of canaryEarly and canaryIdle
	Alarms    []model.Alarm     `json:",omitempty"`
	Against   Refusal           `json:",omitempty"` // of someStay, downMeanwhile, insistedOn and losesSome
	Clue      *Clue             `json:",omitempty"` // of outvotedClue
	Stronger  *Clue             `json:",omitempty"` // of outvotedClue: nil is the flow
	Key       string            `json:",omitempty"` // of otherKey: with Messages set, one of several
	Was       string            `json:",omitempty"` // of otherKey: the same; "": not known
	Why       string            `json:",omitempty"` // of an envelope: what message tells
	Overflow  string            `json:",omitempty"` // of refusesFull
	Others    bool              `json:",omitempty"` // of notTheWorker: the worker receives them, too
	Flow      string            `json:",omitempty"` // of canaryEarly
	Parts     []string          `json:",omitempty"` // of notRestored
	Gone      GoneWhy           `json:",omitempty"` // of mayBeGone and TakesBack
	Skip      *Skip             `json:",omitempty"` // of NotUndone
}

// warn adds a warning, once.
func (p *Plan) warn(w Warning) {
	if !slices.ContainsFunc(p.Warnings, func(told Warning) bool { return reflect.DeepEqual(told, w) }) {
		p.Warnings = append(p.Warnings, w)
	}
}

// warnOfAlarms tells what publishing meets at the moment.
func warnOfAlarms(t *model.Topology) []Warning {
	if alarms := t.Snapshot.Alarms(); len(alarms) > 0 {
		return []Warning{{Kind: inAlarm, Alarms: alarms}}
	}
	return nil
}

// ConvertedWords say what is missing of messages of AMQP 1.0 when they were published once more.
func ConvertedWords(messages int) string {
	return model.Plural(messages, "message") + " of an AMQP 1.0 client: RabbitMQ converts them for dlxtop, so a copy, " +
		"and what an undo brings back, is without subject, to, group-sequence, reply-to-group-id and absolute-expiry-time, " +
		"and ids and properties may have other types"
}

// Grave reports whether it is about messages that are lost, and were insisted on.
func (w Warning) Grave() bool {
	return w.Kind == insistedOn && slices.ContainsFunc(w.Against, func(o Objection) bool {
		return len(o.Losses) > 0 || len(o.Again) > 0
	})
}

// Words say the warning in one sentence.
func (w Warning) Words() string {
	queue := model.Printable(w.Queue.String())
	switch w.Kind {
	case notJournaled:
		return "dropped messages are gone: without the journal there is no undo"
	case inAlarm:
		return model.AlarmWords(w.Alarms) +
			": RabbitMQ blocks publishers; this waits until the alarm ends (at most a minute)"
	case someStay:
		if w.Messages == 1 {
			return "1 of them stays: " + w.Against.Words()
		}
		return model.Count(w.Messages) + " of them stay: " + w.Against.Words()
	case sameID:
		return fmt.Sprintf("%s with the message_id of another one, but different: no copies of each other, and all are "+
			"replayed", model.Plural(w.Messages, "message"))
	case alsoIn:
		return fmt.Sprintf("messages rejected by %s also arrive in %s: copies of what is replayed stay there", queue,
			model.Names(w.Queues))
	case otherKey:
		return w.keyWords(queue)
	case outvotedClue:
		if w.Stronger == nil {
			return w.Clue.Words() + ": the flow decides"
		}
		return fmt.Sprintf("%s: %s weighs more", w.Clue.Words(), w.Stronger.Words())
	case mendsNothing:
		return "the edit changes none of the messages that were read"
	case notOpened:
		return w.Why + ": it is published as it is"
	case opensEnvelope, envelopeDoubt:
		return w.Why
	case downMeanwhile:
		return w.Against.Words() + "; it receives nothing until then"
	case insistedOn:
		return w.Against.Words() + "; " + w.Against.Override()
	case losesSome:
		return w.Against.Words()
	case canaryCounts:
		return fmt.Sprintf("a canary looks at the queue more often: x-delivery-count of the messages that stay "+
			"grows by up to %d",
			canaryDeliveries)
	case canaryIdle:
		return fmt.Sprintf("no consumers where they are sent: the canary waits for one for at most %s, and "+
			"then stops", model.ShortDuration(w.Watched))
	case canaryEarly:
		return fmt.Sprintf("messages that fail in %s wait in its retry buffers for %s or more before they come "+
			"back: a canary of %s does not see that",
			model.Printable(w.Flow), model.ShortDuration(w.Longest), model.ShortDuration(w.Watched))
	case notRestored, alsoStrayed, timedAnew, mayBeGone, TakesBack, NotUndone:
		return w.undoWords(queue)
	case converted:
		return ConvertedWords(w.Messages)
	case undelayed:
		return fmt.Sprintf("%s not to be delivered yet, the last in %s: %s is removed, and they come at once "+
			"(--keep-delay keeps it)", model.Plural(w.Messages, "message"),
			model.ShortDuration(w.Longest.Truncate(time.Second)), message.DeliveryTimeHeader)
	case keptBack:
		return fmt.Sprintf("%s with %s, the last in %s: RabbitMQ confirms them, and keeps them back until then: no look "+
			"finds them", model.Plural(w.Messages, "message"), message.DeliveryTimeHeader,
			model.ShortDuration(w.Longest.Truncate(time.Second)))
	case hasExpired, heldUntilDue, runsEarly, lastTry, answerLost, twoFrameworks:
		return w.frameworkWords()
	}
	return w.queueWords(queue)
}

// keyWords say which routing key a worker sees.
func (w Warning) keyWords(queue string) string {
	words := "the worker sees the routing key " + model.Printable(w.Key)
	if w.Messages > 0 {
		words = fmt.Sprintf("the worker sees other routing keys than %s had, such as %s",
			model.Plural(w.Messages, "message"), model.Printable(w.Key))
	}
	if w.Was != "" {
		words += " instead of " + model.Printable(w.Was)
	}
	if w.Queue.Name != "" {
		words += fmt.Sprintf("; %s is bound for other keys only: an application that chooses by the key may acknowledge "+
			"them unseen", queue)
	}
	return words
}

// queueWords say what a receiving queue does.
func (w Warning) queueWords(queue string) string {
	switch w.Kind {
	case goBack:
		return fmt.Sprintf("%s is the queue they come from: they go back to its end", queue)
	case comeLater:
		return fmt.Sprintf("%s gets them after %s in the buffer", queue, model.ShortDuration(w.Longest))
	case noConsumer:
		wait := "they will wait there"
		if w.After.Set {
			wait = fmt.Sprintf("they will wait there until they expire, after %s (%s)",
				model.ShortDuration(w.After.Value), w.After.Source)
		}
		return fmt.Sprintf("%s has no consumers: %s", queue, wait)
	case notTheWorker:
		too := ""
		if w.Others {
			too = " too"
		}
		return fmt.Sprintf("%s would receive them%s, and is not the worker of this flow", queue, too)
	case refusesFull:
		return fmt.Sprintf("%s refuses messages when it is full (%s): refused ones stay where they "+
			"are", queue, w.Overflow)
	case expiresThem:
		return fmt.Sprintf("%s expires its messages after %s (%s)", queue, model.ShortDuration(w.After.Value),
			w.After.Source)
	case deletesItself:
		if !w.After.Set {
			return fmt.Sprintf("RabbitMQ deletes %s, messages included, when its last consumer goes", queue)
		}
		return fmt.Sprintf("RabbitMQ deletes %s, messages included, when it is unused for %s (%s)", queue,
			model.ShortDuration(w.After.Value), w.After.Source)
	}
	return string(w.Kind)
}

// frameworkWords say what awaits messages of a framework.
func (w Warning) frameworkWords() string {
	noun := "message"
	if w.Framework != "" {
		noun = string(w.Framework) + " message"
	}
	count, when := model.Plural(w.Messages, noun), model.ShortDuration(w.Longest.Truncate(time.Second))
	many := func(one, more string) string {
		if w.Messages == 1 {
			return one
		}
		return more
	}
	switch w.Kind {
	case hasExpired:
		return fmt.Sprintf("%s %s expired (%s ago): the worker will discard %s. Begin with a canary", count,
			many("has", "have"), when, many("it", "them"))
	case heldUntilDue:
		return fmt.Sprintf("%s %s due later, the last in %s: the worker holds %s until then. Begin with a canary", count,
			many("is", "are"), when, many("it", "them"))
	case runsEarly:
		return fmt.Sprintf("%s %s due later, the last in %s: replayed now, %s at "+
			"once", count, many("is", "are"), when,
			many("it runs", "they run"))
	case lastTry:
		return fmt.Sprintf("%s %s one try and no retry: RetryCount is 0, and how many there were is not in the message",
			count, many("gets", "get"))
	case twoFrameworks:
		return fmt.Sprintf("%s %s the marks of %s: what each of them wrote is reset",
			model.Plural(w.Messages, "message"), many("has", "have"), w.Name)
	}
	return fmt.Sprintf("%s %s for an answer in %s, which does not exist: the answer is lost", count, many("asks", "ask"),
		model.Printable(w.Name))
}

// undoWords say what an undo leaves open.
func (w Warning) undoWords(queue string) string {
	messages := model.Plural(w.Messages, "message")
	switch w.Kind {
	case notRestored:
		return fmt.Sprintf("without %s: RabbitMQ does not let clients set that again", quoteList(w.Parts))
	case alsoStrayed:
		return fmt.Sprintf("up to %s may also be in %s: those stay there", messages, queue)
	case timedAnew:
		return messages + " with an expiration of its own: its time begins again"
	case TakesBack:
		words := "brought back when no consumer has taken it"
		if w.Gone.Restores() {
			words = "brought back, from the journal when its limit has dropped it"
		}
		return fmt.Sprintf("%s sent to %s: %s", messages, w.Queue, words)
	case NotUndone:
		return fmt.Sprintf("not undone: %s %s", model.Plural(w.Skip.Messages, "message"), w.Skip.Words())
	}
	switch w.Gone {
	case GoneWaits:
		return fmt.Sprintf("messages that are not found in %s were %s", queue, w.Gone.Words())
	case GoneInsists:
		return fmt.Sprintf("messages no longer in %s come back from the journal: those that a consumer or its "+
			"dead-letter exchange has taken exist twice", queue)
	case GoneEither, GoneUnkept:
		words := fmt.Sprintf("messages no longer in %s were taken by a consumer, or lost there", queue)
		if w.Gone == GoneEither {
			words += ": insist, and the journal brings back all that is not found"
		}
		return words
	}
	return fmt.Sprintf("%s on %s: messages taken from there cannot be brought "+
		"back", model.Plural(w.Consumers, "consumer"),
		queue)
}
