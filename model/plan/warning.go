package plan

import (
	"cmp"
	"context"
	"strings"
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

// warnOfAlarms warns of what blocks publishing at the moment.
func warnOfAlarms(t *model.Topology) []Warning {
	if alarms := t.Snapshot.Alarms(); len(alarms) > 0 {
		return []Warning{warning("%s: RabbitMQ blocks publishers; this waits until the alarm ends (at most a minute)",
			model.AlarmWords(alarms))}
	}
	return nil
}

// WarnOfRights warns of exchanges to which the user may not write. An administrator's rights are not asked for, because
// the question ends a channel, which the broker logs. Without an answer there is no warning.
func (p *Plan) WarnOfRights(
	ctx context.Context, t *model.Topology, mayWrite func(context.Context, model.ExchangeRef) (bool, error),
) {
	if as := &t.Snapshot.Overview; as.User == p.User && as.Administers() {
		return
	}

	for i := range p.Ways {
		name := p.Ways[i].Exchange
		may, err := mayWrite(ctx, model.ExchangeRef{VHost: p.From.VHost, Name: name})
		if err == nil && !may {
			p.warnOfRight(name)
		}
	}
}

func (p *Plan) warnOfRight(exchange string) {
	p.warn(warning("%s may not write to %s: RabbitMQ refuses what goes there, and it stays; grant write on %s "+
		"(rabbitmqctl set_permissions), or use another user", p.User, model.ExchangeName(exchange),
		cmp.Or(exchange, "amq.default")))
}

// someStay: they have no target.
func someStay(n int, against Refusal) Warning {
	w := warning("%v of them (stays|stay): %s", n, against.Words())
	w.Stay = against
	return w
}

// mostKeys bounds how many changes of keys are named.
const mostKeys = 5

// changedKey is a key that a worker sees and a message did not have.
type changedKey struct {
	was model.Opt[string] // unknown if the message does not say
	key string
}

// otherKeys are the keys that change, with their numbers of messages.
type otherKeys struct {
	keys    []changedKey // in the order of their first messages
	counts  map[changedKey]int
	unheard model.QueueRef // a queue that is bound with other keys only; zero for none
}

func (o *otherKeys) add(key string, was model.Opt[string], unheard model.QueueRef) {
	c := changedKey{was, key}
	if o.counts == nil {
		o.counts = map[changedKey]int{}
	}
	if o.counts[c]++; o.counts[c] == 1 {
		o.keys = append(o.keys, c)
	}
	if o.unheard.Name == "" {
		o.unheard = unheard
	}
}

func (o *otherKeys) warning() Warning {
	var changes []string
	name := func(key string) string { return model.Printable(model.Quoted(key)) }
	for i, c := range o.keys {
		if i == mostKeys {
			changes = append(changes, model.Count(len(o.keys)-i)+" more")
			break
		}

		words := "key " + name(c.key)
		if was, known := c.was.Get(); known {
			words = "key " + name(was) + " -> " + name(c.key)
		}
		if n := o.counts[c]; n > 1 && len(o.keys) > 1 {
			words += " (" + messages(n) + ")"
		}

		changes = append(changes, words)
	}

	words := strings.Join(changes, ", ") + ": the worker sees another routing key than before"
	if o.unheard.Name != "" {
		words += model.Sayf("; %s is bound for other keys only: an application that chooses by the key may acknowledge them "+
			"unseen", o.unheard)
	}

	return Warning{Says: words}
}

func mendsNothing() Warning { return warning("the edit changes none of the messages that were read") }

// ConvertedWords say what republished AMQP 1.0 messages lack.
func ConvertedWords(n int) string {
	return model.Sayf("%v message(s) of an AMQP 1.0 client: RabbitMQ converts them for dlxtop, so a copy, and what an "+
		"undo brings back, is without subject, to, group-sequence, reply-to-group-id and absolute-expiry-time, and ids "+
		"and properties may have other types", n)
}

// refusesWhenFull: what happens when a queue fills up during the run.
func refusesWhenFull(r Recipient, overflow string) Warning {
	then := "refused ones stay where they are"
	if len(r.Copies) > 0 {
		then = model.Sayf("its dead-letter exchange takes a copy of each refused one to %s", r.Copies)
		if !r.Insisted {
			then += ": the run ends at the first"
		}
	}
	return warning("%s refuses messages when it is full (%s): %s", r.Queue, overflow, then)
}

// deletesItself: when unused this long; not set: without consumers.
func deletesItself(queue model.QueueRef, unused model.Setting[time.Duration]) Warning {
	when := "its last consumer goes"
	if unused.Set {
		when = model.Sayf("it is unused for %s (%s)", unused.Value, unused.Source)
	}
	return warning("RabbitMQ deletes %s, messages included, when %s", queue, when)
}

// expiresAtOnce: with a TTL of 0 a queue keeps nothing that its consumers do not take at once (all versions).
func expiresAtOnce(t *model.Topology, queue model.QueueRef, s model.Settings) Warning {
	then := "are lost"
	if s.DLX.Set {
		then = model.Sayf("expire to %s", model.NamesOr(t.ExpiredTargets(queue), "no queue, and are lost"))
	}
	return warning("%s keeps no message (message-ttl 0s, %s): those that its consumers do not take at once, because they "+
		"are busy, %s", queue, s.TTL.Source, then)
}

func messages[N int | int64](n N) string { return model.Plural(n, "message") }
