package model

import "time"

// defaultConsumerTimeout is the consumer_timeout of a node that sets none. The API does not show it (3.10.8 to 4.3.6).
const defaultConsumerTimeout = 30 * time.Minute

// ConsumerTimeout returns how long RabbitMQ lets a consumer hold messages of a queue: by argument or policy, the lower
// of both (from 3.12; measured on 4.0.5 and 4.3.6); else by the node's setting, whose default is taken for it. Not set:
// for ever, as of classic queues from 4.3.
func (t *Topology) ConsumerTimeout(ref QueueRef) Setting[time.Duration] {
	q, known := t.Queues[ref]
	own := t.settings.of(ref).ConsumerTimeout
	switch {
	case known && q.Type == Classic && t.Behaviour.NoClassicTimeout:
		return Setting[time.Duration]{}
	case own.Set:
		return own
	}

	return Setting[time.Duration]{defaultConsumerTimeout, true, Source{Kind: FromDefault}}
}
