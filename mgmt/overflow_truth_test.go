package mgmt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
)

// TestOverflowIsWhatTheBrokerDoes fills queues of both types with random limits, overflows by argument, policy and
// operator policy, and dead-letter exchanges, and compares what the model says of further messages with what the broker
// refuses, drops, keeps and dead-letters.
func TestOverflowIsWhatTheBrokerDoes(t *testing.T) {
	number := seed.Number(t)
	for round := range max(1, size.Rounds(0)) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			s := overflowing{newStage(t), rand.New(rand.NewPCG(number, uint64(round)))}
			s.compare()
		})
	}
}

type overflowing struct {
	*stage
	random *rand.Rand
}

// filled is a queue that was filled.
type filled struct {
	name  string
	dead  string // the queue of its dead letters; "" without
	sizes []int64
}

var overflows = [...]string{"drop-head", "reject-publish", "reject-publish-dlx"}

func (s *overflowing) pick(n int) bool { return s.random.IntN(n) == 0 }

// limits returns a random limit and overflow, by policy key.
func (s *overflowing) limits() map[string]any {
	d := map[string]any{}
	if s.pick(2) {
		d["max-length"] = s.random.IntN(6)
	}
	if s.pick(3) {
		d["max-length-bytes"] = s.random.IntN(300)
	}
	if !s.pick(3) {
		d["overflow"] = overflows[s.random.IntN(3)]
	}

	return d
}

func (s *overflowing) declare(name string) filled {
	arguments := amqp.Table{}
	for key, v := range s.limits() {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		arguments["x-"+key] = v
	}

	f := filled{name: name}
	if s.pick(2) {
		arguments["x-queue-type"] = "quorum"
	}

	if !s.pick(3) {
		f.dead = name + ".dead"
		s.queue(f.dead, nil)
		arguments["x-dead-letter-exchange"], arguments["x-dead-letter-routing-key"] = "", f.dead
	}

	for _, operator := range []bool{false, true} {
		definition := s.limits()
		if operator {
			delete(definition, "overflow") // 3.10 does not know it there
		}
		if operator && s.random.IntN(3) > 0 || len(definition) == 0 {
			continue
		}
		s.b.api().SetPolicy(operator, rabbithole.Policy{
			Vhost: s.vhost, Name: name, Pattern: "^" + name + "$", ApplyTo: "queues", Priority: 1, Definition: definition,
		})
	}

	s.queue(name, arguments)
	for range 3 + s.random.IntN(5) {
		f.sizes = append(f.sizes, int64(s.random.IntN(100)))
	}

	return f
}

// send publishes a body of this size, and reports whether the broker took it.
func (s *overflowing) send(queue string, bytes int64) bool {
	return s.confirmed("", queue, amqp.Publishing{Body: make([]byte, bytes)})
}

func (s *overflowing) compare() {
	var queues []filled
	s.stage.declare("policy all .* 0 overflow=" + overflows[s.random.IntN(3)]) // where no other one applies
	for i := range 40 {
		queues = append(queues, s.declare(fmt.Sprintf("q%d", i)))
	}

	names := make([]string, len(queues))
	for i := range queues {
		names[i] = queues[i].name
	}

	for i := range queues {
		for range s.random.IntN(7) {
			s.send(queues[i].name, 50)
		}
	}

	depths := func(of func(filled) string) (n []int) {
		for _, f := range queues {
			one := 0
			if name := of(f); name != "" {
				one = s.depth(name)
			}
			n = append(n, one)
		}
		return n
	}

	ready := depths(func(f filled) string { return f.name })

	snapshot := pollUntil(s.t, s.poll, "the queues are counted", func(now *model.Snapshot) bool {
		for i, name := range names {
			q := find(s.t, now, name)
			if weight, known := q.ReadyBytes.Get(); !known || weight < int64(ready[i]*50) {
				return false
			}
			if q.PolicyDefinition == nil || q.Ready != model.Some(int64(ready[i])) {
				return false
			}
		}

		return true
	})

	topology := model.NewTopology(snapshot)

	before := depths(func(f filled) string { return f.dead })
	for i, f := range queues {
		s.compareOne(topology, f, ready[i], before[i])
	}
}

// compareOne sends messages to a queue, one after the other.
func (s *overflowing) compareOne(topology *model.Topology, f filled, ready, before int) {
	ref := s.ref(f.name)
	q, _ := topology.Queue(ref)
	settings := topology.Settings(ref)
	if settings.MaxBytes.Set && q.Type == model.Quorum && topology.Behaviour.WeighsHeaders {
		return // what it weighs is known as a mean only
	}
	a := loss.Arrivals{Messages: len(f.sizes), Sizes: f.sizes}
	dropped, refused, copies := 0, 0, 0
	if l := loss.OfLimit(topology, ref, a, nil); l != nil {
		dropped = l.Old + l.Ours
	}

	if r := loss.OfRefusal(topology, ref, a, nil); r != nil {
		refused = r.Refused
		if r.Copies() {
			copies = refused
		}
	}

	nacked := 0
	for _, n := range f.sizes {
		if !s.send(f.name, n) {
			nacked++
		}
	}

	left := ready + len(f.sizes) - refused - dropped
	letters := copies
	if f.dead != "" && settings.DLX.Set {
		letters += dropped
	}

	words := fmt.Sprintf("%s (%s, arguments %v, definition %v) with %d of 50 bytes got %v", f.name, q.Type, q.Arguments,
		q.PolicyDefinition, ready, f.sizes)

	// A quorum queue may refuse longer than it is full: then what it said is the most that it takes.
	if q.Type == model.Quorum && nacked > 0 {
		left, refused = left+refused-nacked, nacked
	}

	s.t.Run(f.name, func(t *testing.T) {
		if nacked != refused {
			t.Errorf("%s: %d were refused, the model says %d", words, nacked, refused)
		}
		must.Await(t, fmt.Sprintf("%s: %d stay", words, left), func() bool { return s.depth(f.name) == left })
		if f.dead != "" {
			all := func() bool { return s.depth(f.dead)-before == letters }
			must.Await(t, fmt.Sprintf("%s: %d dead letters", words, letters), all)
		}
	})
}
