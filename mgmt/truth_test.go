package mgmt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// TestRoutingIsWhatTheBrokerDoes builds random topologies on a real broker, reads them through the management API,
// publishes and dead-letters messages, and compares the queues that receive them with the model's prediction. There are
// 40 a round (`make truth`: 2,000). DLXTOP_SEED repeats a run.
func TestRoutingIsWhatTheBrokerDoes(t *testing.T) {
	topologies := max(10, 40*size.Rounds(0))
	number := seed.Number(t)
	b := realBroker(t)
	connection := must.Get(dial.AMQP(b.AMQP()))(t)
	defer connection.Close()
	c := client(t, Options{URL: b.API()})

	cases, wrong := 0, 0
	for i := range topologies {
		w := &world{t: t, api: b.API(), random: rand.New(rand.NewPCG(number, uint64(i)))}
		n, disagreements := w.compare(connection, c)
		cases += n
		wrong += len(disagreements)
		for _, d := range disagreements {
			t.Errorf("topology %d: %s", i, d)
		}
		must.That(t, wrong <= 20, "more than 20 disagreements: the rest is not looked at")
	}

	must.That(t, cases != 0, "nothing was compared")
	t.Logf("%d topologies, %d cases, %d disagreements", topologies, cases, wrong)
}

// world is one random topology.
type world struct {
	t         *testing.T
	api       string
	random    *rand.Rand
	forAll    bool // a policy with a dead-letter exchange applies to all queues
	channel   *amqp.Channel
	exchanges []string
	open      []string // exchanges that a client may publish to
	kinds     map[string]string
	queues    []string
}

// trial is one message: where it was published and, for a dead letter, the queue it left.
type trial struct {
	id       string
	exchange string
	keys     []string
	headers  amqp.Table
	leaves   string
}

func (w *world) pick(list []string) string { return list[w.random.IntN(len(list))] }

func (w *world) key() string {
	return w.joined("a", "b", "c", "")
}

// joined returns up to three of the words, with dots between them.
func (w *world) joined(words ...string) string {
	parts := make([]string, w.random.IntN(4))
	for i := range parts {
		parts[i] = w.pick(words)
	}
	return strings.Join(parts, ".")
}

func (w *world) pattern() string {
	pattern := w.joined("a", "b", "c", "", "*", "#")
	if pattern == "#.#.#" {
		return "a.#.#" // 4.3 accepts at most two # in a pattern (406)
	}
	return pattern
}

// keyTo returns a key that may hit something: a queue's name for the default exchange.
func (w *world) keyTo() string {
	if w.random.IntN(4) == 0 {
		return w.pick(w.queues)
	}
	return w.key()
}

func (w *world) headers() amqp.Table {
	h := amqp.Table{}
	for _, k := range []string{"h", "i", "x-h"} {
		switch w.random.IntN(5) {
		case 0:
			h[k] = "1"
		case 1:
			h[k] = int32(1)
		case 2:
			h[k] = int64(2)
		case 3:
			h[k] = w.random.IntN(2) == 0
		}
	}

	return h
}

func (w *world) declare() {
	for i := range 2 + w.random.IntN(11) {
		w.exchanges = append(w.exchanges, fmt.Sprintf("x%d", i))
	}
	for i := range 3 + w.random.IntN(18) {
		w.queues = append(w.queues, fmt.Sprintf("q%d", i))
	}

	w.kinds = map[string]string{}
	for _, x := range w.exchanges {
		kind := w.pick([]string{
			"direct", "direct", "fanout", "topic", "topic", "topic", "headers", "x-consistent-hash",
			"x-random", "x-modulus-hash", "x-recent-history",
		})

		args := amqp.Table{}

		if w.random.IntN(3) == 0 {
			args["alternate-exchange"] = w.pick(append(slices.Clone(w.exchanges), "nope", ""))
			if args["alternate-exchange"] == "" {
				args["alternate-exchange"] = x
			}
		}

		w.kinds[x] = kind
		internal := w.random.IntN(8) == 0 // it accepts dead letters, and messages from other exchanges
		if !internal {
			w.open = append(w.open, x)
		}

		must.Do(w.t, w.channel.ExchangeDeclare(x, kind, true, false, internal, false, args))
	}

	if w.forAll = w.random.IntN(3) == 0; w.forAll {
		definition := map[string]any{"dead-letter-exchange": w.pick(append(slices.Clone(w.exchanges), "", "nope"))}
		if w.random.IntN(2) == 0 {
			definition["dead-letter-routing-key"] = w.keyTo()
		}
		manage.Of(w.t, w.api).Policy("/", "all", ".*", definition)
	}

	for _, q := range w.queues {
		args := amqp.Table{}
		if w.random.IntN(3) > 0 {
			args["x-dead-letter-exchange"] = w.pick(append(slices.Clone(w.exchanges), "", "nope"))
			if w.random.IntN(2) == 0 {
				args["x-dead-letter-routing-key"] = w.keyTo()
			}
		}

		if w.random.IntN(6) == 0 {
			args["x-queue-type"] = "quorum"
		}

		must.Get(w.channel.QueueDeclare(q, true, false, false, false, args))(w.t)
		must.Do(w.t, w.channel.ExchangeDeclare("into."+q, "fanout", true, false, false, false, nil))
		must.Do(w.t, w.channel.QueueBind(q, "", "into."+q, false, nil))
	}

	for range w.random.IntN(61) {
		x := w.pick(w.exchanges)
		key, args := w.key(), amqp.Table(nil)
		switch w.kinds[x] {
		case "topic":
			key = w.pattern()
		case "x-consistent-hash":
			key = "1" // a weight
		case "headers":
			args = w.headers()
			if m := w.pick([]string{"", "all", "any", "all-with-x", "any-with-x"}); m != "" {
				args["x-match"] = m
			}
		}

		if w.random.IntN(4) == 0 {
			must.Do(w.t, w.channel.ExchangeBind(w.pick(w.exchanges), key, x, false, args))
		} else {
			must.Do(w.t, w.channel.QueueBind(w.pick(w.queues), key, x, false, args))
		}
	}
}

func (w *world) remove() {
	if w.forAll {
		n := manage.Of(w.t, w.api)
		n.Done(n.DeletePolicy("/", "all"))
	}

	for _, q := range w.queues {
		must.Get(w.channel.QueueDelete(q, false, false, false))(w.t)
		must.Do(w.t, w.channel.ExchangeDelete("into."+q, false, false))
	}

	for _, x := range w.exchanges {
		must.Do(w.t, w.channel.ExchangeDelete(x, false, false))
	}
}

// deleteOne deletes a queue and an exchange: keys, alternates and dead letters may still name them.
func (w *world) deleteOne() {
	q, x := w.queues[0], w.exchanges[0]
	must.Get(w.channel.QueueDelete(q, false, false, false))(w.t)
	must.Do(w.t, w.channel.ExchangeDelete(x, false, false))

	w.queues, w.exchanges = w.queues[1:], w.exchanges[1:]
	w.open = slices.DeleteFunc(w.open, func(name string) bool { return name == x })
}

// compare declares the topology, sends messages, and returns how many were compared and what differs.
func (w *world) compare(connection *amqp.Connection, client *Client) (cases int, disagreements []string) {
	channel := must.Get(connection.Channel())(w.t)
	defer channel.Close()
	w.channel = channel
	must.Do(w.t, channel.Confirm(false))
	w.declare()
	defer w.remove()
	topology := model.NewTopology(must.Get(client.Current(w.t.Context()))(w.t))
	if w.random.IntN(2) == 0 {
		w.deleteOne()
		topology = topology.Next(must.Get(client.Current(w.t.Context()))(w.t))
	}

	trials := map[string]trial{}
	for i := range 20 {
		tr := trial{
			id: fmt.Sprintf("p%d", i), exchange: w.pick(append(slices.Clone(w.open), "")),
			keys: []string{w.keyTo()}, headers: w.headers(),
		}

		w.copies(&tr, "CC", 4)
		w.copies(&tr, "BCC", 6)
		trials[tr.id] = tr
		w.publish(tr)
	}

	got := w.drain()
	for id, tr := range trials {
		want := topology.Route("/", tr.exchange, tr.keys, model.Table(tr.headers))
		cases++
		if names := namesOf(want.Queues); !agree(want, got[id]) {
			disagreements = append(disagreements,
				fmt.Sprintf("published to %q with %q and %v: the broker gave it to %v, the model says %v", tr.exchange,
					tr.keys, tr.headers, got[id], names))
		}
	}

	return cases + w.compareDeadLetters(topology, &disagreements), disagreements
}

// copies gives one trial in n another key by a header.
func (w *world) copies(tr *trial, header string, n int) {
	if w.random.IntN(n) == 0 {
		key := w.keyTo()
		tr.headers[header], tr.keys = []any{key}, append(tr.keys, key)
	}
}

// compareDeadLetters puts one message into each queue with a dead-letter exchange, through an exchange that leads only
// there so that its key can be any, and rejects it.
func (w *world) compareDeadLetters(topology *model.Topology, disagreements *[]string) int {
	letters := map[string]trial{}
	want := map[string]model.Route{}
	arrivals := 0
	var held []amqp.Delivery // all are taken out before the first is rejected, so that they cannot be confused
	for _, q := range w.queues {
		ref := build.Ref(q)
		if !topology.Settings(ref).DLX.Set {
			continue
		}
		tr := trial{id: "d-" + q, exchange: "into." + q, keys: []string{w.keyTo()}, headers: w.headers(), leaves: q}
		w.copies(&tr, "CC", 4)
		letters[tr.id] = tr
		w.publish(tr)
		d, ok, err := w.channel.Get(q, false)
		must.Do(w.t, err)
		must.That(w.t, ok, "the message that was put into %s is not there", q)
		held = append(held, d)

		want[tr.id] = topology.DeadLetter(ref, tr.keys, model.Table(tr.headers))
		if want[tr.id].Exact {
			arrivals += len(want[tr.id].Queues)
		}
	}

	for _, d := range held {
		must.Do(w.t, d.Nack(false, false))
	}

	got := map[string][]string{}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		// A queue answers after it has forwarded rejected messages: what is not in the others then was not sent.
		for _, q := range w.queues {
			must.Get(w.channel.QueueDeclarePassive(q, true, false, false, false, nil))(w.t)
		}

		for id, queues := range w.drain() {
			if want[id].Exact {
				arrivals -= len(queues)
			}
			got[id] = append(got[id], queues...)
		}

		if arrivals <= 0 || time.Now().After(deadline) {
			break
		}
	}

	for id, tr := range letters {
		slices.Sort(got[id])
		leaves := build.Ref(tr.leaves)
		if end, lost := topology.DeadEnd(leaves, tr.keys, model.Table(tr.headers)); lost && len(got[id]) > 0 {
			*disagreements = append(*disagreements, fmt.Sprintf("rejected in %s with %q and %v: the broker gave it to %v, the "+
				"model says that %s loses it", tr.leaves, tr.keys, tr.headers, got[id], end.Queue.Name))
		}

		if !agree(want[id], got[id]) {
			*disagreements = append(*disagreements,
				fmt.Sprintf("rejected in %s (%v) with %q and %v: the broker gave it to %v, the model says %v", tr.leaves,
					topology.Settings(leaves), tr.keys, tr.headers, got[id], namesOf(want[id].Queues)))
		}
	}

	return len(letters)
}

func (w *world) publish(tr trial) {
	m := amqp.Publishing{MessageId: tr.id, Headers: maps.Clone(tr.headers)}
	dial.Send(w.t, w.channel, tr.exchange, tr.keys[0], m)
}

// drain empties all queues, and returns for each message the queues that had it, sorted; a queue with two copies is
// listed twice.
func (w *world) drain() map[string][]string {
	got := map[string][]string{}
	for _, q := range w.queues {
		for _, d := range dial.Drain(w.t, w.channel, q) {
			got[d.MessageId] = append(got[d.MessageId], q)
		}
	}

	for _, queues := range got {
		slices.Sort(queues)
	}

	return got
}

// agree reports whether a message went where the model says: exactly there or, where an exchange chooses, to some of
// the possible queues, once each.
func agree(want model.Route, got []string) bool {
	possible := namesOf(want.Queues)
	if want.Exact {
		return slices.Equal(possible, got)
	}
	for i, q := range got {
		if !slices.Contains(possible, q) || slices.Contains(got[:i], q) {
			return false
		}
	}

	return want.Why != ""
}

func namesOf(refs []model.QueueRef) []string {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}
