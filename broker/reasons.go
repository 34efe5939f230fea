package broker

import (
	"errors"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// reason is what RabbitMQ refuses something for. AMQP 0-9-1 has one code for several of them: which it is, only the
// text beside the code tells. This file and limits.go are the two that read it.
type reason string

const (
	unknownReason    reason = ""
	noQueue          reason = "no queue"
	queueDown        reason = "queue down"        // it exists, and its node or its majority does not run
	activeConsumer   reason = "active consumer"   // a quorum queue gives to nobody else
	othersQueue      reason = "other's queue"     // exclusive to another connection
	exclusiveConsume reason = "exclusive consume" // a consumer has exclusive access
	noReadRight      reason = "no read right"
	noWriteRight     reason = "no write right"
	badLogin         reason = "bad login"
	noVHost          reason = "no vhost"
	noVHostRight     reason = "no vhost right"
	connectionEnded  reason = "connection ended" // by the broker, as when it stops
)

// attempt is what was refused.
type attempt int

const (
	onQueue   attempt = iota // get, consume, declare
	onLogin                  // the opening of a connection
	onPublish                // basic.publish
)

// reasons are what the codes and texts of RabbitMQ mean, the first that fits.
var reasons = []struct {
	on     attempt
	code   int    // 0: any
	text   string // that the broker's holds; "": any
	ends   bool   // with the text
	reason reason
	said   string // an example, with the versions that it was measured on
}{
	{onQueue, 0, "nodedown", false, queueDown, "541 INTERNAL_ERROR … nodedown (3.10.8)"},
	{onQueue, amqp.NotFound, "no queue", false, noQueue, "NOT_FOUND - no queue 'q' in vhost '/' (3.10.8, 4.0.5, 4.3.6)"},
	{
		onQueue, amqp.NotFound, "", false, queueDown, "NOT_FOUND - home node 'rabbit@b' of durable queue 'q' in vhost " +
			"'/' is down or inaccessible (3.10.8); … process is stopped by supervisor (4.0.5)",
	},
	{
		onQueue, amqp.ResourceLocked, "single active consumer", false, activeConsumer,
		"RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'. basic.get operations are not " +
			"supported by quorum queues with single active consumer (3.10.8, 4.0.5; <<\"quorum\">> queues in 4.3.6)",
	},
	{
		onQueue, amqp.ResourceLocked, "", false, othersQueue,
		"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/' (3.10.8, 4.0.5, 4.3.6)",
	},
	{
		onQueue, amqp.AccessRefused, "exclusive use", false, exclusiveConsume,
		"ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use (3.10.8, 4.0.5, 4.3.6)",
	},
	{
		onQueue, amqp.AccessRefused, "", false, noReadRight,
		"ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u' (3.10.8); read access to queue … " +
			"(4.0.5, 4.3.6)",
	},
	{
		onQueue, amqp.ConnectionForced, "", false, connectionEnded,
		"CONNECTION_FORCED - broker forced connection closure (3.10.8)",
	},
	{
		onLogin, amqp.NotAllowed, " not found", true, noVHost,
		"NOT_ALLOWED - vhost v not found (3.10.8, 4.0.5, 4.3.6)",
	},
	{
		onLogin, amqp.NotAllowed, "", false, noVHostRight,
		"NOT_ALLOWED - access to vhost 'v' refused for user 'u' (3.10.8, 4.0.5, 4.3.6)",
	},
	{onLogin, amqp.AccessRefused, "vhost", false, noVHostRight, "403 in place of 530; not seen in these versions"},
	{
		onLogin, amqp.AccessRefused, "", false, badLogin,
		"ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN (3.10.8, 4.0.5, 4.3.6)",
	},
	{
		// An internal exchange is refused with the same code, and other words.
		onPublish, amqp.AccessRefused, "access to ", false, noWriteRight,
		"ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'u' (3.10.8); write access to " +
			"exchange … (4.0.5, 4.3.6)",
	},
}

// reasonOf is why the broker refused an attempt; unknownReason when it was not the broker, or said something else.
func reasonOf(on attempt, err error) reason {
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return unknownReason
	}
	for _, r := range reasons {
		fits := strings.Contains(e.Reason, r.text)
		if r.ends {
			fits = strings.HasSuffix(e.Reason, r.text)
		}
		if fits && r.on == on && (r.code == 0 || r.code == e.Code) {
			return r.reason
		}
	}
	return unknownReason
}
