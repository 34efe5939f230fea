package plan

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Warning is something that a person might not expect of a plan.
type Warning struct {
	Says  string  // in one sentence
	Grave bool    // it is about messages that are lost, and were insisted on
	Stay  Refusal // why some messages stay
}

// Words are the warning in one sentence.
func (w Warning) Words() string { return w.Says }

func warning(format string, values ...any) Warning {
	return Warning{Says: model.Sayf(format, values...)}
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
		return []Warning{warning("%s: RabbitMQ blocks publishers; this waits until the alarm ends (at most a minute)",
			model.AlarmWords(alarms))}
	}
	return nil
}

func notJournaled() Warning {
	return warning("dropped messages are gone: without the journal there is no undo")
}

// someStay: they have no way.
func someStay(n int, against Refusal) Warning {
	w := warning("%s of them %s: %s", model.Count(n), many(n, "stays", "stay"), against.Words())
	w.Stay = against
	return w
}

func sameID(n int) Warning {
	return warning("%s with the message_id of another one, but different: no copies of each other, and all are replayed",
		messages(n))
}

// alsoIn: further failed queues of a worker have copies.
func alsoIn(worker model.QueueRef, queues []model.QueueRef) Warning {
	return warning("messages rejected by %s also arrive in %s: copies of what is replayed stay there", worker, queues)
}

// otherKey is a key that the worker sees and a message did not have.
type otherKey struct {
	Key, Was string         // Was: "" is not known
	Messages int            // 0: all have these keys
	Unheard  model.QueueRef // that is bound for other keys only; zero: there is none
}

func (w otherKey) warning() Warning {
	words := "the worker sees the routing key " + model.Printable(w.Key)
	if w.Messages > 0 {
		words = model.Sayf("the worker sees other routing keys than %s had, such as %s", messages(w.Messages),
			model.Printable(w.Key))
	}
	if w.Was != "" {
		words += " instead of " + model.Printable(w.Was)
	}
	if w.Unheard.Name != "" {
		words += model.Sayf("; %s is bound for other keys only: an application that chooses by the key may acknowledge them "+
			"unseen", w.Unheard)
	}
	return Warning{Says: words}
}

// outvotedClue names another worker than the one that was chosen; stronger: nil is the flow.
func outvotedClue(clue, stronger *target.Clue) Warning {
	if stronger == nil {
		return warning("%s: the flow decides", clue.Words())
	}
	return warning("%s: %s weighs more", clue.Words(), stronger.Words())
}

func mendsNothing() Warning { return warning("the edit changes none of the messages that were read") }

func insistedOn(o Objection) Warning {
	_, grave := o.ObjectionKind.(lost)
	return Warning{Says: o.Words() + "; " + o.Override(), Grave: grave}
}

// converted: RabbitMQ has made them of AMQP 1.0, and a copy lacks parts.
func converted(n int) Warning { return Warning{Says: ConvertedWords(n)} }

// ConvertedWords say what is missing of messages of AMQP 1.0 when they were published once more.
func ConvertedWords(n int) string {
	return messages(n) + " of an AMQP 1.0 client: RabbitMQ converts them for dlxtop, so a copy, and what an undo brings " +
		"back, is without subject, to, group-sequence, reply-to-group-id and absolute-expiry-time, and ids and properties " +
		"may have other types"
}

// withDelay: they have a time of delivery that is still to come. stays: the header of the delay is published.
func withDelay(n int, longest time.Duration, stays bool) Warning {
	longest = longest.Truncate(time.Second)
	if stays {
		return warning("%s with %s, the last in %s: RabbitMQ confirms them, and keeps them back until then: no look finds "+
			"them", messages(n), message.DeliveryTimeHeader, longest)
	}
	return warning("%s not to be delivered yet, the last in %s: %s is removed, and they come at once (--keep-delay keeps "+
		"it)", messages(n), longest, message.DeliveryTimeHeader)
}

func canaryCounts() Warning {
	return warning("a canary looks at the queue more often: x-delivery-count of the messages that stay grows by up to %d",
		canaryDeliveries)
}

func canaryIdle(patience time.Duration) Warning {
	return warning("no consumers where they are sent: the canary waits for one for at most %s, and then stops", patience)
}

// canaryEarly: what fails comes back later than it watches.
func canaryEarly(inBuffers, watched time.Duration) Warning {
	return warning("messages that fail again wait in retry buffers for %s or more before they come back: a canary of %s "+
		"does not see that", inBuffers, watched)
}

// What follows says what a receiving queue does.

func goBack(queue model.QueueRef) Warning {
	return warning("%s is the queue they come from: they go back to its end", queue)
}

func noConsumer(queue model.QueueRef, ttl model.Setting[time.Duration]) Warning {
	if ttl.Set {
		return warning("%s has no consumers: they will wait there until they expire, after %s (%s)", queue, ttl.Value,
			ttl.Source)
	}
	return warning("%s has no consumers: they will wait there", queue)
}

func notTheWorker(queue model.QueueRef, others bool) Warning {
	too := ""
	if others {
		too = " too"
	}
	return warning("%s would receive them%s, and is not the worker of this flow", queue, too)
}

func refusesFull(queue model.QueueRef, overflow string) Warning {
	return warning("%s refuses messages when it is full (%s): refused ones stay where they are", queue, overflow)
}

func expiresThem(queue model.QueueRef, ttl model.Setting[time.Duration]) Warning {
	return warning("%s expires its messages after %s (%s)", queue, ttl.Value, ttl.Source)
}

// deletesItself: unused for so long; not set: without consumers.
func deletesItself(queue model.QueueRef, unused model.Setting[time.Duration]) Warning {
	when := "its last consumer goes"
	if unused.Set {
		when = model.Sayf("it is unused for %s (%s)", unused.Value, unused.Source)
	}
	return warning("RabbitMQ deletes %s, messages included, when %s", queue, when)
}

// What follows says what awaits messages of a framework.

func twoFrameworks(n int, names string) Warning {
	return warning("%s %s the marks of %s: what each of them wrote is reset", messages(n), many(n, "has", "have"), names)
}

// answerLost: the queue for it is gone.
func answerLost(n int, framework message.Framework, queue string) Warning {
	return warning("%s %s for an answer in %s, which does not exist: the answer is lost", messagesOf(framework, n),
		many(n, "asks", "ask"), model.Printable(queue))
}

func lastTry(n int, framework message.Framework) Warning {
	return warning("%s %s one try and no retry: RetryCount is 0, and how many there were is not in the message",
		messagesOf(framework, n), many(n, "gets", "get"))
}

// tooLateFor: the worker discards what has expired, so long ago.
func tooLateFor(n int, framework message.Framework, ago time.Duration) Warning {
	return warning("%s %s expired (%s ago): the worker will discard %s. Begin with a canary", messagesOf(framework, n),
		many(n, "has", "have"), ago.Truncate(time.Second), many(n, "it", "them"))
}

// dueLater: what is due later the worker holds, or it runs before.
func dueLater(n int, framework message.Framework, last time.Duration, held bool) Warning {
	what := "replayed now, " + many(n, "it runs", "they run") + " at once"
	if held {
		what = "the worker holds " + many(n, "it", "them") + " until then. Begin with a canary"
	}
	return warning("%s %s due later, the last in %s: %s", messagesOf(framework, n), many(n, "is", "are"),
		last.Truncate(time.Second), what)
}

func messagesOf(f message.Framework, n int) string {
	return model.Plural(n, strings.TrimSpace(string(f)+" message"))
}

func messages[N int | int64](n N) string { return model.Plural(n, "message") }

func many(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// What follows says what an undo leaves open.

// notRestored are properties that clients cannot set.
func notRestored(parts []string) Warning {
	return warning("without %s: RabbitMQ does not let clients set that again", quoteList(parts))
}

func alsoStrayed(n int, queue model.QueueRef) Warning {
	return warning("up to %s may also be in %s: those stay there", messages(n), queue)
}

func expiresAgain(n int) Warning {
	return warning("%s with an expiration of its own: its time begins again", messages(n))
}

// mayBeGone: from where they were sent to.
func mayBeGone(queue model.QueueRef, gone GoneWhy, consumers int64) Warning {
	switch gone {
	case GoneWaits:
		return warning("messages that are not found in %s were %s", queue, gone.Words())
	case GoneInsists:
		return warning("messages no longer in %s come back from the journal: those that a consumer or its dead-letter "+
			"exchange has taken exist twice", queue)
	case GoneEither:
		return warning("messages no longer in %s were taken by a consumer, or lost there: insist, and the journal brings "+
			"back all that is not found", queue)
	case GoneUnkept:
		return warning("messages no longer in %s were taken by a consumer, or lost there", queue)
	}
	return warning("%s on %s: messages taken from there cannot be brought back", model.Plural(consumers, "consumer"),
		queue)
}

func takesBack(n int, queue model.QueueRef, gone GoneWhy) Warning {
	how := " when no consumer has taken it"
	if gone.Restores() {
		how = ", from the journal when its limit has dropped it"
	}
	return warning("%s sent to %s: brought back%s", messages(n), queue, how)
}

func notUndone(s Skip) Warning { return warning("not undone: %s %s", messages(s.Messages), s.Words()) }
