// Package broker is dlxtop's AMQP 0-9-1 side: it looks at messages, replays and drops them, and counts. It is the
// adapter between amqp091-go and the model, and knows no screens.
//
// Messages are only ever taken with a manual acknowledgement. Whatever ends a call, what was not acknowledged is given
// back as the plan says, or by the broker when the connection is lost.
package broker
