package message

import "github.com/dlxtop/dlxtop/model"

// Message is one peeked message.
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
