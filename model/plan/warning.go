package plan

import (
	"reflect"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Warning is something that the user might not expect of a plan.
type Warning struct {
	Says  string  // in one sentence
	Grave bool    // it is about lost messages, and the user insisted
	Stay  Refusal // why some messages stay
}

func (w Warning) Words() string { return w.Says }

func warning(format string, values ...any) Warning {
	return Warning{Says: model.Sayf(format, values...)}
}

// warn adds a warning, but not twice.
func (p *Plan) warn(w Warning) {
	if !slices.ContainsFunc(p.Warnings, func(told Warning) bool { return reflect.DeepEqual(told, w) }) {
		p.Warnings = append(p.Warnings, w)
	}
}

// warnOfAlarms warns of what blocks publishing at the moment.
func warnOfAlarms(t *model.Topology) []Warning {
	if alarms := t.Snapshot.Alarms(); len(alarms) > 0 {
		return []Warning{warning("%s: RabbitMQ blocks publishers; this waits until the alarm ends (at most a minute)",
			model.AlarmWords(alarms))}
	}
	return nil
}

// someStay: they have no target.
func someStay(n int, against Refusal) Warning {
	w := warning("%s of them %s: %s", model.Count(n), many(n, "stays", "stay"), against.Words())
	w.Stay = against
	return w
}

// otherKey is a key that the worker sees and a message did not have.
type otherKey struct {
	Key, Was string         // Was: "" if unknown
	Messages int            // 0: all have these keys
	Unheard  model.QueueRef // a queue that is bound with other keys only; zero for none
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

func mendsNothing() Warning { return warning("the edit changes none of the messages that were read") }

// ConvertedWords say what republished AMQP 1.0 messages lack.
func ConvertedWords(n int) string {
	return messages(n) + " of an AMQP 1.0 client: RabbitMQ converts them for dlxtop, so a copy, and what an undo brings " +
		"back, is without subject, to, group-sequence, reply-to-group-id and absolute-expiry-time, and ids and properties " +
		"may have other types"
}

// deletesItself: when unused this long; not set: without consumers.
func deletesItself(queue model.QueueRef, unused model.Setting[time.Duration]) Warning {
	when := "its last consumer goes"
	if unused.Set {
		when = model.Sayf("it is unused for %s (%s)", unused.Value, unused.Source)
	}
	return warning("RabbitMQ deletes %s, messages included, when %s", queue, when)
}

func messages[N int | int64](n N) string { return model.Plural(n, "message") }

func many(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
