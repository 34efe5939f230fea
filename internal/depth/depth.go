// Package depth counts the messages of a queue for tests, without the code under test.
package depth

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// answersWithin is how long a broker waits for a quorum queue: a slower queue seems empty and without consumers
	// (3.10.8, 4.0.5, 4.3.6).
	answersWithin = 250 * time.Millisecond
	// patience limits how long such a queue is asked again.
	patience = time.Minute
)

// Of returns the number of ready messages in a queue. The test ends when they cannot be counted.
func Of(t testing.TB, channel *amqp.Channel, queue string) int {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		began := time.Now()
		q, err := channel.QueueDeclarePassive(queue, false, false, false, false, nil)
		if err != nil {
			t.Fatalf("count %s: %v", queue, err)
		}
		if q.Messages > 0 || q.Consumers > 0 || time.Since(began) < answersWithin {
			return q.Messages
		}
		if time.Now().After(deadline) {
			t.Fatalf("count %s: the queue does not answer", queue)
		}
	}
}
