package model

import (
	"strings"
)

// addHeldBuffers finds queues whose consumers, and not the broker, hold the messages until they are due (Dramatiq):
// q.DQ beside q, both dead-lettering into q.XQ.
func (b *flowBuilder) addHeldBuffers() {
	for ref, held := range b.held {
		s := b.t.settings.of(ref)
		buffer := &Buffer{
			Member: Member{Queue: ref, Reason: Sayf("the workers of %v take its messages and hold them until "+
				"they are due (Dramatiq: the name ends in %s, and both dead-letter to %v); delayed: workers and publishers fill it",
				held.Name, HeldSuffix, s.Key.Value)},
			Role: DelayedBuffer, TTLSource: Source{Kind: FromMessage}, Held: true,
			Key: Some(held.Name), Targets: []QueueRef{held}, // through the default exchange
		}

		f := b.of(held, "receives messages that are due in "+Printable(ref.Name))
		f.Buffers = append(f.Buffers, buffer)
	}
}

// findHeld finds Dramatiq's delay queues, each with its worker.
func (r *roles) findHeld() map[QueueRef]QueueRef {
	held := map[QueueRef]QueueRef{}
	for q := range r.t.EachQueue() {
		ref := q.QueueRef
		name, ok := strings.CutSuffix(ref.Name, HeldSuffix)
		if !ok {
			continue
		}
		worker := ref.Beside(name)
		_, stated := r.statedWaits(ref)
		if _, exists := r.t.Queues[worker]; !exists || stated || r.t.settings.of(ref).TTL.Set {
			continue
		}
		dead := Address{"", name + deadSuffix}
		if r.t.deadLetterAddress(ref) == dead && r.t.deadLetterAddress(worker) == dead {
			held[ref] = worker
		}
	}

	return held
}

// deadLetterAddress returns where a queue's dead letters are published, as far as its settings say.
func (t *Topology) deadLetterAddress(ref QueueRef) Address {
	s := t.settings.of(ref)
	return Address{s.DLX.Value, s.Key.Value}
}
