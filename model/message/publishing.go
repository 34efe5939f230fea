package message

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Publishing is a message as a replay publishes it.
type Publishing struct {
	model.Address
	Properties Properties
	Headers    model.Table
	Body       []byte
	Reaches    []model.QueueRef // the queues that receive it
}

// IsBrokerHeader reports whether a header tells the past of a message, or sends it to more queues than the plan says.
// Kept, x-death can lose the message at its next expiry on 3.x (a cycle), and misleads a worker that counts its tries;
// CC and BCC would deliver it a second time to queues that had it already.
func IsBrokerHeader(key string) bool {
	return key == "CC" || key == "BCC" || slices.Contains(DeliveryCounters, key) || IsDeathHeader(key)
}

// IsDeathHeader reports whether a header is part of the death history.
func IsDeathHeader(key string) bool {
	return key == "x-death" || strings.HasPrefix(key, "x-first-death-") || strings.HasPrefix(key, "x-last-death-")
}

// ReplayHeaders are the headers that a replay of m keeps: a headers exchange on the way looks at them.
func (m *Message) ReplayHeaders() model.Table {
	whole := true
	for key := range m.Headers {
		whole = whole && !IsBrokerHeader(key)
	}
	if whole {
		return m.Headers
	}
	kept := make(model.Table, len(m.Headers))
	for key, v := range m.Headers {
		if !IsBrokerHeader(key) {
			kept[key] = v
		}
	}
	return kept
}
