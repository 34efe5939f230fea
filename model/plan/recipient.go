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
}

func RecipientOf(t *model.Topology, ref model.QueueRef) Recipient {
	r := Recipient{Queue: ref}
	if q, exists := t.Queue(ref); exists {
		s := t.Settings(ref)
		r.Consumers, r.Taken = q.Consumers, q.Taken()
		of := t.Snapshot
		alone := len(of.Nodes) == 1 || of.Nodes == nil && q.Node == of.Overview.Node
		r.Rejects = s.Bounded() && s.Overflow.Value != model.DropHead && (alone || q.Type == model.Quorum)
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
