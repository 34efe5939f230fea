package broker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// endingLooks has a queue for itself at the moment at which the look is called off.
type endingLooks struct {
	broker.Looks
	callOff  context.CancelFunc
	unlocked int
}

func (l *endingLooks) Lock(context.Context, string, model.QueueRef) (unlock func(), err error) {
	l.callOff()
	return func() { l.unlocked++ }, nil
}

func (l *endingLooks) Close() error { return nil }

// A look that is called off while it waits for its turn keeps the queue from nobody.
func TestALookThatIsCalledOffLetsGo(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	q := a.queue("q", model.Quorum)
	ctx, callOff := context.WithCancel(t.Context())
	looks := &endingLooks{callOff: callOff}
	c := newClient(t, broker.Options{URL: node.AMQP(), Looks: looks})
	_, err := c.Peek(ctx, planPeek(described(q, model.Quorum), peek.Want{Limit: 1}))
	assert.That(t, errors.Is(err, context.Canceled) && looks.unlocked == 1,
		"%v; it was let go %d times", err, looks.unlocked)
}
