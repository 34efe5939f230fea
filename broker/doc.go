// Package broker is dlxtop's AMQP 0-9-1 side: it peeks at messages, replays, drops and counts them. It is the adapter
// between amqp091-go and the model, and knows no screens.
//
// Messages are only ever taken with manual acknowledgement. Whatever ends a call, unacknowledged messages are returned
// as the plan says, or by the broker when the connection is lost.
package broker
