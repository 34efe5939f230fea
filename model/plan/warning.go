package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Warning is something that a person might not expect of a plan: a value of the type of its kind.
type Warning struct{ WarningKind }

// WarningKind is one of the types below.
type WarningKind interface {
	Words() string // the warning in one sentence
}

// warn adds a warning, once.
func (p *Plan) warn(w WarningKind) {
	if !slices.ContainsFunc(p.Warnings, func(told Warning) bool { return reflect.DeepEqual(told.WarningKind, w) }) {
		p.Warnings = append(p.Warnings, Warning{w})
	}
}

// Grave reports whether it is about messages that are lost, and were insisted on.
func (w Warning) Grave() bool {
	insisted, ok := w.WarningKind.(insistedOn)
	if ok {
		_, ok = insisted.Against.ObjectionKind.(lost)
	}
	return ok
}

// warnOfAlarms tells what publishing meets at the moment.
func warnOfAlarms(t *model.Topology) []Warning {
	if alarms := t.Snapshot.Alarms(); len(alarms) > 0 {
		return []Warning{{inAlarm{alarms}}}
	}
	return nil
}

type notJournaled struct{}

func (notJournaled) Words() string {
	return "dropped messages are gone: without the journal there is no undo"
}

type inAlarm struct{ Alarms []model.Alarm }

func (w inAlarm) Words() string {
	return model.AlarmWords(w.Alarms) + ": RabbitMQ blocks publishers; this waits until the alarm ends (at most a minute)"
}

// someStay: they have no way.
type someStay struct {
	Messages int
	Against  Refusal
}

func (w someStay) Words() string {
	return model.Count(w.Messages) + " of them " + many(w.Messages, "stays: ", "stay: ") + w.Against.Words()
}

type sameID struct{ Messages int }

func (w sameID) Words() string {
	return model.Plural(w.Messages, "message") + " with the message_id of another one, but different: no copies of each " +
		"other, and all are replayed"
}

// alsoIn: further failed queues of a worker have copies.
type alsoIn struct {
	Worker model.QueueRef
	Queues []model.QueueRef
}

func (w alsoIn) Words() string {
	return fmt.Sprintf("messages rejected by %s also arrive in %s: copies of what is replayed stay there",
		model.Printable(w.Worker.String()), model.Names(w.Queues))
}

// otherKey is a key that the worker sees and a message did not have.
type otherKey struct {
	Key, Was string         // Was: "" is not known
	Messages int            // 0: all have these keys
	Unheard  model.QueueRef // that is bound for other keys only; zero: there is none
}

func (w otherKey) Words() string {
	words := "the worker sees the routing key " + model.Printable(w.Key)
	if w.Messages > 0 {
		words = fmt.Sprintf("the worker sees other routing keys than %s had, such as %s",
			model.Plural(w.Messages, "message"), model.Printable(w.Key))
	}
	if w.Was != "" {
		words += " instead of " + model.Printable(w.Was)
	}
	if w.Unheard.Name != "" {
		words += fmt.Sprintf("; %s is bound for other keys only: an application that chooses by the key may acknowledge "+
			"them unseen", model.Printable(w.Unheard.String()))
	}
	return words
}

// outvotedClue names another worker than the one that was chosen.
type outvotedClue struct {
	Clue     target.Clue
	Stronger *target.Clue // nil is the flow
}

func (w outvotedClue) Words() string {
	if w.Stronger == nil {
		return w.Clue.Words() + ": the flow decides"
	}
	return fmt.Sprintf("%s: %s weighs more", w.Clue.Words(), w.Stronger.Words())
}

// notOpened looks like an envelope.
type notOpened struct{ Why string }

func (w notOpened) Words() string { return w.Why + ": it is published as it is" }

// opensEnvelope is why what is published is not what lies in the queue, or may be other than it was.
type opensEnvelope struct{ Why string }

func (w opensEnvelope) Words() string { return w.Why }

type mendsNothing struct{}

func (mendsNothing) Words() string { return "the edit changes none of the messages that were read" }

// downMeanwhile: a recipient is.
type downMeanwhile struct{ targetDown }

func (w downMeanwhile) Words() string {
	return w.targetDown.Words() + "; it receives nothing until then"
}

type insistedOn struct{ Against Objection }

func (w insistedOn) Words() string { return w.Against.Words() + "; " + w.Against.Override() }

// losesSome: by a limit, or at their second failure, and the application's own messages, too.
type losesSome struct{ Lost lost }

func (w losesSome) Words() string { return w.Lost.Words() }

// converted: RabbitMQ has made them of AMQP 1.0, and a copy lacks parts.
type converted struct{ Messages int }

func (w converted) Words() string { return ConvertedWords(w.Messages) }

// ConvertedWords say what is missing of messages of AMQP 1.0 when they were published once more.
func ConvertedWords(messages int) string {
	return model.Plural(messages, "message") + " of an AMQP 1.0 client: RabbitMQ converts them for dlxtop, so a copy, " +
		"and what an undo brings back, is without subject, to, group-sequence, reply-to-group-id and absolute-expiry-time, " +
		"and ids and properties may have other types"
}

// withDelay: they have a time of delivery that is still to come.
type withDelay struct {
	Messages int
	Longest  time.Duration
	Stays    bool // the header of the delay is published
}

func (w withDelay) Words() string {
	messages, longest := model.Plural(w.Messages, "message"), model.ShortDuration(w.Longest.Truncate(time.Second))
	if w.Stays {
		return fmt.Sprintf("%s with %s, the last in %s: RabbitMQ confirms them, and keeps them back until then: no look "+
			"finds them", messages, message.DeliveryTimeHeader, longest)
	}
	return fmt.Sprintf("%s not to be delivered yet, the last in %s: %s is removed, and they come at once "+
		"(--keep-delay keeps it)", messages, longest, message.DeliveryTimeHeader)
}

type canaryCounts struct{}

func (canaryCounts) Words() string {
	return fmt.Sprintf("a canary looks at the queue more often: x-delivery-count of the messages that stay grows by up "+
		"to %d", canaryDeliveries)
}

type canaryIdle struct{ Patience time.Duration }

func (w canaryIdle) Words() string {
	return fmt.Sprintf("no consumers where they are sent: the canary waits for one for at most %s, and then stops",
		model.ShortDuration(w.Patience))
}

// canaryEarly: what fails comes back later than it watches.
type canaryEarly struct{ InBuffers, Watched time.Duration }

func (w canaryEarly) Words() string {
	return fmt.Sprintf("messages that fail again wait in retry buffers for %s or more before they come back: a canary of "+
		"%s does not see that", model.ShortDuration(w.InBuffers), model.ShortDuration(w.Watched))
}

// What follows says what a receiving queue does.

type goBack struct{ Queue model.QueueRef }

func (w goBack) Words() string {
	return model.Printable(w.Queue.String()) + " is the queue they come from: they go back to its end"
}

// comeLater: through a buffer.
type comeLater struct {
	Worker model.QueueRef
	After  time.Duration
}

func (w comeLater) Words() string {
	return fmt.Sprintf("%s gets them after %s in the buffer", model.Printable(w.Worker.String()),
		model.ShortDuration(w.After))
}

type noConsumer struct {
	Queue model.QueueRef
	TTL   model.Setting[time.Duration]
}

func (w noConsumer) Words() string {
	words := model.Printable(w.Queue.String()) + " has no consumers: they will wait there"
	if w.TTL.Set {
		words += fmt.Sprintf(" until they expire, after %s (%s)", model.ShortDuration(w.TTL.Value), w.TTL.Source)
	}
	return words
}

type notTheWorker struct {
	Queue  model.QueueRef
	Others bool // the worker receives them, too
}

func (w notTheWorker) Words() string {
	words := model.Printable(w.Queue.String()) + " would receive them"
	if w.Others {
		words += " too"
	}
	return words + ", and is not the worker of this flow"
}

type refusesFull struct {
	Queue    model.QueueRef
	Overflow string
}

func (w refusesFull) Words() string {
	return fmt.Sprintf("%s refuses messages when it is full (%s): refused ones stay where they are",
		model.Printable(w.Queue.String()), w.Overflow)
}

type expiresThem struct {
	Queue model.QueueRef
	TTL   model.Setting[time.Duration]
}

func (w expiresThem) Words() string {
	return fmt.Sprintf("%s expires its messages after %s (%s)", model.Printable(w.Queue.String()),
		model.ShortDuration(w.TTL.Value), w.TTL.Source)
}

type deletesItself struct {
	Queue  model.QueueRef
	Unused model.Setting[time.Duration] // for so long; not set: without consumers
}

func (w deletesItself) Words() string {
	when := "its last consumer goes"
	if w.Unused.Set {
		when = fmt.Sprintf("it is unused for %s (%s)", model.ShortDuration(w.Unused.Value), w.Unused.Source)
	}
	return fmt.Sprintf("RabbitMQ deletes %s, messages included, when %s", model.Printable(w.Queue.String()), when)
}

// What follows says what awaits messages of a framework.

type twoFrameworks struct {
	Messages int
	Names    string
}

func (w twoFrameworks) Words() string {
	return fmt.Sprintf("%s %s the marks of %s: what each of them wrote is reset", model.Plural(w.Messages, "message"),
		many(w.Messages, "has", "have"), w.Names)
}

// answerLost: the queue for it is gone.
type answerLost struct {
	Messages  int
	Framework message.Framework
	Queue     string
}

func (w answerLost) Words() string {
	return fmt.Sprintf("%s %s for an answer in %s, which does not exist: the answer is lost",
		messagesOf(w.Framework, w.Messages), many(w.Messages, "asks", "ask"), model.Printable(w.Queue))
}

type lastTry struct {
	Messages  int
	Framework message.Framework
}

func (w lastTry) Words() string {
	return fmt.Sprintf("%s %s one try and no retry: RetryCount is 0, and how many there were is not in the message",
		messagesOf(w.Framework, w.Messages), many(w.Messages, "gets", "get"))
}

// untimely: the worker discards what has expired; what is due later it holds, or it runs before.
type untimely struct {
	Messages  int
	Framework message.Framework
	Expired   bool
	Held      bool          // until it is due
	Longest   time.Duration // since it expired, or until it is due
}

func (w untimely) Words() string {
	count, when := messagesOf(w.Framework, w.Messages), model.ShortDuration(w.Longest.Truncate(time.Second))
	it := many(w.Messages, "it", "them")
	if w.Expired {
		return fmt.Sprintf("%s %s expired (%s ago): the worker will discard %s. Begin with a canary", count,
			many(w.Messages, "has", "have"), when, it)
	}
	due := fmt.Sprintf("%s %s due later, the last in %s: ", count, many(w.Messages, "is", "are"), when)
	if w.Held {
		return due + fmt.Sprintf("the worker holds %s until then. Begin with a canary", it)
	}
	return due + "replayed now, " + many(w.Messages, "it runs", "they run") + " at once"
}

func messagesOf(f message.Framework, n int) string {
	return model.Plural(n, strings.TrimSpace(string(f)+" message"))
}

func many(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// What follows says what an undo leaves open.

// notRestored are properties that clients cannot set.
type notRestored struct{ Parts []string }

func (w notRestored) Words() string {
	return "without " + quoteList(w.Parts) + ": RabbitMQ does not let clients set that again"
}

type alsoStrayed struct {
	Messages int
	Queue    model.QueueRef
}

func (w alsoStrayed) Words() string {
	return fmt.Sprintf("up to %s may also be in %s: those stay there", model.Plural(w.Messages, "message"),
		model.Printable(w.Queue.String()))
}

type expiresAgain struct{ Messages int }

func (w expiresAgain) Words() string {
	return model.Plural(w.Messages, "message") + " with an expiration of its own: its time begins again"
}

// mayBeGone: from where they were sent to.
type mayBeGone struct {
	Queue     model.QueueRef
	Gone      GoneWhy
	Consumers int64
}

func (w mayBeGone) Words() string {
	queue := model.Printable(w.Queue.String())
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
	return fmt.Sprintf("%s on %s: messages taken from there cannot be brought back",
		model.Plural(w.Consumers, "consumer"), queue)
}

type takesBack struct {
	Messages int
	Queue    model.QueueRef
	Gone     GoneWhy
}

func (w takesBack) Words() string {
	how := " when no consumer has taken it"
	if w.Gone.Restores() {
		how = ", from the journal when its limit has dropped it"
	}
	return fmt.Sprintf("%s sent to %s: brought back%s", model.Plural(w.Messages, "message"), w.Queue, how)
}

type notUndone struct{ Skip Skip }

func (w notUndone) Words() string {
	return fmt.Sprintf("not undone: %s %s", model.Plural(w.Skip.Messages, "message"), w.Skip.Words())
}
