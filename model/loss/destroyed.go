package loss

import "github.com/dlxtop/dlxtop/model"

// Destroyed is how many messages a node destroyed because, when they left their queues, these had no dead-letter
// exchange, or one that does not exist. A node counts that exactly, by type of queue and reason, since it started, also
// while rabbitmq_prometheus is disabled, and not by queue. Refusals of a classic queue with reject-publish-dlx count as
// maxlen, though publishers know of them. A dead letter that no binding takes, a purge, and a queue that is deleted do
// not count (3.10.8, 4.0.5, 4.3.6).
type Destroyed struct {
	Node     string
	Unknown  string // in words: why this node tells nothing; "" otherwise
	Type     model.QueueType
	Reason   model.Reason
	Messages model.Opt[int64] // since the node started
	Watched  model.Opt[int64] // of these, those since an earlier look
}

// Since notes in counts what was destroyed after earlier ones: unknown of a node that was started meanwhile.
func Since(earlier, counts []Destroyed) []Destroyed {
	counted := func(d *Destroyed) Destroyed { return Destroyed{Node: d.Node, Type: d.Type, Reason: d.Reason} }

	for now := range model.Each(counts) {
		for d := range model.Each(earlier) {
			lately := now.Messages.Or(0) - d.Messages.Or(0)
			if counted(d) == counted(now) && d.Messages.Known() && lately >= 0 {
				now.Watched = model.Some(lately)
			}
		}
	}

	return counts
}
