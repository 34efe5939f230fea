package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Words name the queue and where it is known from.
func (c *Clue) Words() string { return fmt.Sprintf("%s (%s)", c.queueWords(), c.Source()) }

func (c *Clue) queueWords() string {
	name := model.Printable(c.Queue.Name)
	switch {
	case c.Elsewhere != "" && c.Elsewhere == c.Queue.VHost:
		return name + " of the vhost " + model.Printable(c.Elsewhere)
	case c.Elsewhere != "":
		return fmt.Sprintf("%s, which is gone; the vhost %s has one of that name", name, model.Printable(c.Elsewhere))
	case c.Gone && c.Topic:
		return name + ", a topic whose queue is gone"
	case c.Gone:
		return name + ", which is gone"
	}
	return name
}

// Source is where the queue is known from.
func (c *Clue) Source() string {
	switch c.Kind {
	case ByFramework:
		return model.Printable(c.Framework) + " wrote it"
	case ByRejection:
		if c.Reason != model.Rejected {
			return fmt.Sprintf("x-death: the message left it last, %s", model.Printable(string(c.Reason)))
		}
		return "x-death: it rejected the message last"
	case ByExpiry:
		return fmt.Sprintf("x-death: %s led there", model.Printable(c.Through))
	case ByOrigin:
		words := fmt.Sprintf("its origin, exchange %s, key %s", model.ExchangeName(c.Address.Exchange),
			model.Quoted(c.Address.RoutingKey))
		if c.Reaches > 1 {
			words += ", reaches " + model.Count(c.Reaches) + " queues"
		}
		return model.Printable(words)
	case ByFlow:
		return "its flow"
	case ByName:
		return "by name"
	}
	return "a similar name"
}

// reason says in which capacity a message is sent to the worker by name.
func (c *Clue) reason() string {
	switch c.Kind {
	case ByFramework:
		return "the worker that it failed in, as " + c.Framework + " wrote it"
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

// cluesWords name the queues that could be meant.
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
	Clues   []Clue // the queues that could be meant
}

type workerProblem string

const (
	noFlow        workerProblem = "no flow"  // and the message has no trace of its worker
	cluesDisagree workerProblem = "disagree" // what the message tells
	workerGone    workerProblem = "gone"     // that the message tells
)

// Words name the queues that could be meant.
func (o NoWorker) Words() string {
	var gone, there []Clue
	for _, c := range o.Clues {
		if c.Gone {
			gone = append(gone, c)
		} else {
			there = append(there, c)
		}
	}
	words := "this queue belongs to no flow, and the message has no trace of its worker"
	switch {
	case o.Problem == cluesDisagree:
		words, gone, there = "the evidence for the worker disagrees: "+cluesWords(o.Clues), nil, nil
	case len(gone) > 0:
		words = "the worker is not here: " + cluesWords(gone)
	}
	if len(there) > 0 {
		words += "; it could be " + cluesWords(there)
	}
	name := "NAME"
	switch at := slices.IndexFunc(o.Clues, func(c Clue) bool { return !c.Gone }); {
	case slices.ContainsFunc(there, func(c Clue) bool { return c.Kind == ByOrigin }):
		words += "; what its first exchange and key reach now may have had a copy of its own"
	case at >= 0:
		name = model.Printable(o.Clues[at].Queue.Name)
	}
	return words + ": name a target, for example queue:" + name
}
