package message

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Message is one message as it was peeked.
type Message struct {
	Position    int    // 1 is the head of the queue at the time of the peek
	Exchange    string // where it was last published or dead-lettered to; "" is the default exchange
	RoutingKey  string
	Redelivered bool
	Properties  Properties
	Headers     model.Table // typed as AMQP delivered them; nil when there were none
	Body        []byte      // nil when only its size was kept
	BodyBytes   int
	Deaths      []Death // parsed from x-death; newest first
	DeathsError string  // why x-death could not be read (in full), "" when it could
	Fingerprint Fingerprint

	hashed *hashedBody // set by Identify for a large body
}

// Properties are AMQP 0-9-1's basic properties without the headers. A zero field was absent (amqp091-go cannot tell an
// explicit priority 0 from an absent one).
type Properties struct {
	ContentType     string
	ContentEncoding string
	DeliveryMode    uint8 // 1 transient, 2 persistent
	Priority        uint8
	CorrelationID   string
	ReplyTo         string
	Expiration      string // milliseconds, as text: that is how AMQP carries it
	MessageID       string
	Timestamp       time.Time // to the second
	Type            string
	UserID          string
	AppID           string
}

// Persistent reports whether the message survives a restart in a durable queue.
func (p Properties) Persistent() bool { return p.DeliveryMode == 2 }
