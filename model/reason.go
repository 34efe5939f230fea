package model

// Reason is why a message left a queue for a dead-letter exchange.
type Reason string

// The reasons that RabbitMQ writes into x-death.
const (
	Expired       Reason = "expired"
	Rejected      Reason = "rejected"
	MaxLen        Reason = "maxlen"
	DeliveryLimit Reason = "delivery_limit"
)
