// Package dial connects tests to a node, past the code under test.
package dial

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// patience is how long a machine that has too much to do may take for an answer.
const patience = 2 * time.Minute

// AMQP connects. Heartbeats of 10 s, the default, come too late where everything stands still for a while.
func AMQP(url string) (*amqp.Connection, error) {
	return amqp.DialConfig(url, amqp.Config{Heartbeat: time.Minute, Dial: amqp.DefaultDial(patience)})
}
