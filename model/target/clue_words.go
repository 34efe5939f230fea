package target

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Words name the queue and the source of the clue.
func (c *Clue) Words() string { return c.queueWords() + " (" + c.Source() + ")" }

func (c *Clue) queueWords() string {
	name := model.Printable(c.Queue.Name)
	if c.Renamed != "" {
		name += ", renamed by [redirect] from " + model.Printable(c.Renamed)
	}
	switch {
	case c.Passage.Broker != "":
		return name + " of the vhost " + model.Printable(c.Elsewhere) + " of " + model.Printable(c.Passage.Broker)
	case c.Elsewhere != "" && c.Elsewhere == c.Queue.VHost:
		return name + " of the vhost " + model.Printable(c.Elsewhere)
	case c.Elsewhere != "":
		return name + ", which is gone; the vhost " + model.Printable(c.Elsewhere) + " has one of that name"
	case c.Gone && c.Topic:
		return name + ", a topic whose queue is gone"
	case c.Gone:
		return name + ", which is gone"
	}

	return name
}

// Source returns how the queue is known.
func (c *Clue) Source() string {
	switch c.Kind {
	case ByFramework:
		return model.Printable(c.Framework) + " wrote it"
	case ByRecord:
		return "by " + model.Printable(c.Where)

	case ByRejection:
		return c.death() + c.brought()

	case ByExpiry:
		return "x-death: " + model.Printable(c.Through) + " led there"
	case ByOrigin:
		words := model.Sayf("its origin, exchange %s, key %s", model.ExchangeName(c.Address.Exchange),
			model.Quoted(c.Address.RoutingKey))
		if c.Reaches > 1 {
			words += model.Sayf(", reaches %v queues", c.Reaches)
		}
		return model.Printable(words)
	case ByFlow:
		return "its flow"
	case ByName:
		return "by name"
	case ByMention:
		words := "named in " + c.Where
		if c.Address.Exchange != "" {
			words = model.Sayf("%s names the exchange %s, which reaches %v queue(s)", c.Where, c.Address.Exchange, c.Reaches)
		}
		return model.Printable(words)
	}

	return "a similar name"
}

func (c *Clue) death() string {
	switch c.Reason {
	case "":
		return ""
	case model.Rejected:
		return "x-death: it rejected the message last"
	}

	return "x-death: the message left it last, " + model.Printable(string(c.Reason))
}

// brought says how a message came from another vhost or broker.
func (c *Clue) brought() string {
	p := &c.Passage
	if p.By == "" {
		return ""
	}
	words := p.By + " brought the message from " + model.QueueRef{VHost: p.VHost, Name: p.Queue}.String()
	if p.Queue == "" {
		words = p.By + " brought the message from " + model.ExchangeName(p.Exchange) + " of the vhost " + p.VHost
	}
	if c.Reason != "" {
		words = "; " + words
	}

	return model.Printable(words)
}

// reason says in which role the worker gets a message by name.
func (c *Clue) reason() string {
	switch c.Kind {
	case ByFramework:
		return "the worker that it failed in, as " + c.Framework + " wrote it"
	case ByRecord:
		return "the worker that it failed in, by " + model.Printable(c.Where)
	case ByRejection:
		if c.Reason != model.Rejected {
			return "the worker that it left last, by x-death"
		}
		return "the worker that rejected it last, by x-death"
	case ByExpiry:
		return "the worker that its last delay led to, by x-death"
	}

	return "the worker by name"
}

// cluesWords name the possible queues.
func cluesWords(clues []Clue) string {
	var words []string
	for i := range clues {
		words = append(words, clues[i].Words())
	}
	return strings.Join(words, ", or ")
}

// NoWorker: it is unknown which worker a message is for.
type NoWorker struct {
	Problem workerProblem
	Clues   []Clue // the possible queues
	Trace   Trace  // what the message says besides
}

// Trace is what an application wrote about a message's origin, from which no queue follows.
type Trace struct {
	Where    string // "x-original-queue"; "" for nothing
	Unusable string // why it names no queue
	Key      string // for a routing key
}

func (r *replay) trace() (t Trace) {
	for _, s := range r.Stated(r.envelope) {
		if s.Unusable != "" {
			return Trace{Where: s.Where, Unusable: s.Unusable}
		}
	}
	t.Key, t.Where, _ = r.FirstKey()
	return t
}

func (t Trace) describe() string {
	if t.Where == "" {
		return "the message has no trace of its worker"
	}
	if t.Unusable != "" {
		return model.Printable(t.Where + " names no queue: it " + t.Unusable)
	}
	return model.Sayf("the message names no queue (%s: %s)", t.Where, model.Quoted(t.Key))
}

type workerProblem string

const (
	noFlow        workerProblem = "this queue belongs to no flow"
	cluesDisagree workerProblem = "the evidence for the worker disagrees: "
	workerGone    workerProblem = "the worker is not here: " // named by the message
)

// Words name the possible queues.
func (o NoWorker) Words() string {
	var gone, there []Clue
	for _, c := range o.Clues {
		if c.Gone {
			gone = append(gone, c)
		} else {
			there = append(there, c)
		}
	}

	words, name := string(noFlow), "NAME"
	switch {
	case o.Problem == cluesDisagree:
		words = string(cluesDisagree) + cluesWords(o.Clues)
	case len(gone) > 0:
		words = string(workerGone) + cluesWords(gone)
	case o.Trace.Where != "", !slices.ContainsFunc(there, func(c Clue) bool { return c.Kind != ByLikeness }):
		words += ", and " + o.Trace.describe()
	}

	if len(there) > 0 && o.Problem != cluesDisagree {
		words += "; it could be " + cluesWords(there)
	}

	switch {
	case o.Problem != cluesDisagree && slices.ContainsFunc(there, func(c Clue) bool { return c.Kind == ByOrigin }):
		words += "; what its first exchange and key reach now may have had a copy of its own"
	case len(there) > 0:
		name = model.Printable(there[0].Queue.Name)
	}

	return words + ": name a target, for example queue:" + name
}
