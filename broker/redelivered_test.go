package broker_test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// TestALookMarksAsRedelivered: what was published to a queue is not redelivered until a look, whatever its publisher
// wrote, so that the next look knows what has been there since.
func TestALookMarksAsRedelivered(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		q := a.queue("q", kind)
		sent := numbered(2)
		sent[1].Headers = amqp.Table{"x-delivery-count": int64(3), "x-acquired-count": int64(3)}
		a.publish(q, sent...)
		for look, want := range []bool{false, true, true} {
			a.await(q, len(sent))
			for _, m := range peekAt(t, c, planPeek(described(q, kind), peek.Want{})).Messages {
				assert.Equal(t, m.Redelivered, want, "look %d, message %d: redelivered", look+1, m.Position)
			}
		}
	})
}
