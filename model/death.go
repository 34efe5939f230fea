package model

import "time"

// Reason is why a message left a queue for a dead-letter exchange.
type Reason string

// The reasons that RabbitMQ writes into x-death.
const (
	Expired       Reason = "expired"
	Rejected      Reason = "rejected"
	MaxLen        Reason = "maxlen"
	DeliveryLimit Reason = "delivery_limit"
)

// Death is one entry of x-death: all deaths in one queue for one reason. Exchange, RoutingKeys and Time are those of the
// FIRST death of the group; the broker does not tell the others.
type Death struct {
	Queue              string
	Reason             Reason
	Count              int64 // 0 when the broker or a client did not say
	Exchange           string
	RoutingKeys        []string  // with CC, without BCC
	Time               time.Time // zero when absent
	OriginalExpiration string    // milliseconds, as text: the message's own TTL, when it had one
}

// ParseDeaths reads the header x-death: newest death first, as the broker writes it. What is readable of a malformed
// x-death is kept, and problem says in one sentence what could not be read. Without the header both are zero.
func ParseDeaths(headers Table) (deaths []Death, problem string) { return nil, "" }

// Origin is where a message was first published.
func (m *Message) Origin() Address { return Address{m.Exchange, m.RoutingKey} }

// OriginReason says where Origin knows it from.
func (m *Message) OriginReason() string { return "" }
