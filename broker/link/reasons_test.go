package link

import (
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// What the three versions say, and what is made of it. TestReasonsOfTheBroker lets one say it.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		on   Attempt
		code int
		said string
		want Reason
	}{
		// 3.10.8, 4.0.5, 4.3.6
		{OnQueue, 404, "NOT_FOUND - no queue 'nodes down' in vhost '/'", noQueue},
		{OnQueue, 405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be " +
			"originally declared on another connection or the exclusive property value does not match that of the " +
			"original declaration.", othersQueue},
		{OnQueue, 403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use", exclusiveConsume},
		// 3.10.8
		{
			OnQueue, 404, "NOT_FOUND - home node 'rabbit@b' of durable queue 'q' in vhost '/' is down or inaccessible",
			queueDown,
		},
		{OnQueue, 541, "INTERNAL_ERROR - ... {nodedown,'rabbit@b'}", queueDown},
		{OnQueue, 403, "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u'", noReadRight},
		{OnPublish, 403, "ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'u'", NoWriteRight},
		// 4.0.5, 4.3.6
		{OnQueue, 404, "NOT_FOUND - queue 'q' in vhost '/' process is stopped by supervisor", queueDown},
		{OnQueue, 403, "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'u'", noReadRight},
		{OnPublish, 403, "ACCESS_REFUSED - write access to exchange 'x' in vhost '/' refused for user 'u'", NoWriteRight},
		// An internal exchange, all three
		{OnPublish, 403, "ACCESS_REFUSED - cannot publish to internal exchange 'x' in vhost '/'", UnknownReason},
		{OnLogin, 403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.", badLogin},
		{OnLogin, 530, "NOT_ALLOWED - vhost v not found", noVHost},
		{OnLogin, 530, "NOT_ALLOWED - access to vhost 'not found' refused for user 'u'", noVHostRight},
		// What was refused decides what the same words mean.
		{OnLogin, 404, "NOT_FOUND - no queue 'q' in vhost '/'", UnknownReason},
		{OnQueue, 320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'", connectionEnded},
		{OnQueue, 406, "PRECONDITION_FAILED - whatever", UnknownReason},
	} {
		err := &amqp.Error{Code: test.code, Reason: test.said, Server: true}
		assert.Equal(t, ReasonOf(test.on, fmt.Errorf("get: %w", err)), test.want, "%s\nis", test.said)
		if err.Server = false; ReasonOf(test.on, err) != UnknownReason {
			t.Errorf("that is no answer of the broker: %s", test.said)
		}
	}
}
