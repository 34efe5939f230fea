package plan

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// Recipient is a queue that would receive messages of a plan.
type Recipient struct {
	Queue     model.QueueRef
	Consumers model.Opt[int64]
	Messages  int // of the sampled messages
	// what consumers had taken from it for good when the plan was made, since the broker began to count
	Taken model.Opt[int64]
	// Rejects: when full it refuses publishes (reject-publish, reject-publish-dlx), and there is no other cause for a
	// refusal. Not in the journal.
	Rejects bool
	// Copies are the queues that get a copy of each message that it refuses when full (reject-publish-dlx). Not in the
	// journal.
	Copies   []model.QueueRef
	Insisted bool // the user agreed to such copies: otherwise the run ends at the first. Not in the journal
}

func RecipientOf(t *model.Topology, ref model.QueueRef) Recipient {
	r := Recipient{Queue: ref}
	q, of := t.Known(ref), t.Snapshot
	r.Consumers, r.Taken = q.Consumers, q.Taken()
	if t.Settings(ref).Refuses() {
		alone := len(of.Nodes) == 1 || of.Nodes == nil && q.Node == of.Overview.Node
		r.Rejects = alone || q.Type == model.Quorum
		r.Copies = t.OverflowTargets(ref)
	}

	return r
}

// NackRefuses reports whether a basic.nack means that no queue has stored the message. RabbitMQ also sends one when the
// node of a classic queue is unreachable, although the queue may have the message (3.10.8, 4.3.6), and when one of
// several queues refuses what the others keep.
func NackRefuses(recipients []Recipient, reaches []model.QueueRef) bool {
	return len(reaches) == 1 &&
		slices.ContainsFunc(recipients, func(r Recipient) bool { return r.Queue == reaches[0] && r.Rejects })
}

// LeftCopies are copies of messages that a full queue refused: a classic queue with overflow reject-publish-dlx answers
// basic.nack and dead-letters the message, and other queues that the publish reached keep it (3.10.8, 4.0.5, 4.3.6).
type LeftCopies struct {
	By       model.QueueRef   // the full queue
	In       []model.QueueRef // where the copies are
	Messages int
	AtMost   bool // another queue may have answered basic.nack
}

// Words say where the copies are.
func (c *LeftCopies) Words() string {
	most := ""
	if c.AtMost {
		most = "up to "
	}
	return model.Sayf("%s%v message(s) refused by %s left a copy in %s: an undo does not remove it", most, c.Messages,
		c.By, c.In)
}

// CopiesOf returns the copies that a refusal of one message may have left, by the queues that it reaches. ends: the
// user did not agree to them, and the run ends.
func CopiesOf(recipients []Recipient, reaches []model.QueueRef) (left []LeftCopies, ends bool) {
	for r := range model.Each(recipients) {
		if !slices.Contains(reaches, r.Queue) {
			continue
		}
		in := r.Copies
		if r.Rejects {
			in = model.UnionOf(in, others(reaches, r.Queue))
		}

		if len(in) > 0 {
			left = append(left, LeftCopies{By: r.Queue, In: in, Messages: 1, AtMost: len(reaches) > 1 || !r.Rejects})
			ends = ends || !r.Insisted
		}
	}

	return left, ends
}

// others returns the queues except for one.
func others(refs []model.QueueRef, one model.QueueRef) []model.QueueRef {
	return slices.DeleteFunc(slices.Clone(refs), func(ref model.QueueRef) bool { return ref == one })
}
