package link

import (
	"errors"
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// Reason is why RabbitMQ refused something. AMQP 0-9-1 has one code for several reasons: only the text beside it says
// which. This file and limits.go are the only two that read it.
type Reason string

const (
	UnknownReason    Reason = ""
	noQueue          Reason = "no queue"
	queueDown        Reason = "queue down"        // it exists, but its node is down or it has no majority
	activeConsumer   Reason = "active consumer"   // a quorum queue only delivers to that one
	othersQueue      Reason = "other's queue"     // exclusive to another connection
	exclusiveConsume Reason = "exclusive consume" // a consumer has exclusive access
	noReadRight      Reason = "no read right"
	NoWriteRight     Reason = "no write right"
	NoTopicRight     Reason = "no right for the routing key"
	WriteRight       Reason = "write right" // it is refused for another reason
	badLogin         Reason = "bad login"
	noVHost          Reason = "no vhost"
	noVHostRight     Reason = "no vhost right"
	connectionEnded  Reason = "connection ended" // by the broker, for example because it stops
)

type Attempt int

const (
	OnQueue   Attempt = iota // get, consume, declare
	OnLogin                  // opening a connection
	OnPublish                // basic.publish
	OnUnbind                 // unbinding the default exchange from another one
)

// reasons map RabbitMQ's codes and texts to their meaning; the first match counts. A comment shows an example, with the
// versions that it was measured on.
var reasons = []struct {
	on     Attempt
	code   int    // 0: any
	text   string // contained in the broker's text; "": any
	ends   bool   // the broker's text ends with it
	reason Reason
}{
	// 541 INTERNAL_ERROR … nodedown (3.10.8)
	{OnQueue, 0, "nodedown", false, queueDown},
	// NOT_FOUND - no queue 'q' in vhost '/' (3.10.8, 4.0.5, 4.3.6)
	{OnQueue, amqp.NotFound, "no queue", false, noQueue},
	// NOT_FOUND - home node 'rabbit@b' of durable queue 'q' in vhost '/' is down or inaccessible (3.10.8); … process is
	// stopped by supervisor (4.0.5)
	{OnQueue, amqp.NotFound, "", false, queueDown},
	// RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'. basic.get operations are not supported by
	// quorum queues with single active consumer (3.10.8, 4.0.5; <<"quorum">> queues in 4.3.6)
	{OnQueue, amqp.ResourceLocked, "single active consumer", false, activeConsumer},
	// RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/' (3.10.8, 4.0.5, 4.3.6)
	{OnQueue, amqp.ResourceLocked, "", false, othersQueue},
	// ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use (3.10.8, 4.0.5, 4.3.6)
	{OnQueue, amqp.AccessRefused, "exclusive use", false, exclusiveConsume},
	// ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u' (3.10.8); read access to queue … (4.0.5,
	// 4.3.6)
	{OnQueue, amqp.AccessRefused, "", false, noReadRight},
	// CONNECTION_FORCED - broker forced connection closure (3.10.8)
	{OnQueue, amqp.ConnectionForced, "", false, connectionEnded},
	// NOT_ALLOWED - vhost v not found (3.10.8, 4.0.5, 4.3.6)
	{OnLogin, amqp.NotAllowed, " not found", true, noVHost},
	// NOT_ALLOWED - access to vhost 'v' refused for user 'u' (3.10.8, 4.0.5, 4.3.6)
	{OnLogin, amqp.NotAllowed, "", false, noVHostRight},
	// 403 in place of 530; not seen in these versions
	{OnLogin, amqp.AccessRefused, "vhost", false, noVHostRight},
	// ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN (3.10.8, 4.0.5, 4.3.6)
	{OnLogin, amqp.AccessRefused, "", false, badLogin},
	// ACCESS_REFUSED - access to topic 'k' in exchange 'x' in vhost '/' refused for user 'u' (3.10.8); write access to
	// topic … (4.0.5, 4.3.6): topic permissions, also where write on the exchange is granted
	{OnPublish, amqp.AccessRefused, "access to topic ", false, NoTopicRight},
	// ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'u' (3.10.8); write access to exchange …
	// (4.0.5, 4.3.6). An internal exchange is refused with the same code, but other words.
	{OnPublish, amqp.AccessRefused, "access to ", false, NoWriteRight},
	{OnUnbind, amqp.AccessRefused, "access to ", false, NoWriteRight},
	// ACCESS_REFUSED - operation not permitted on the default exchange (3.10.8, 4.0.5, 4.3.6)
	{OnUnbind, amqp.AccessRefused, "on the default exchange", true, WriteRight},
}

// ReasonOf returns why the broker refused an attempt; UnknownReason when it was not the broker, or said something else.
func ReasonOf(on Attempt, err error) Reason {
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return UnknownReason
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

	return UnknownReason
}

// QueueError words the broker's refusal of an attempt on a queue, and wraps the model's error that callers check for.
func QueueError(attempt string, queue model.QueueRef, err error) error {
	if err == nil {
		return nil
	}
	name := queue.Printable()
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return fmt.Errorf("%s %s: %w", attempt, name, Loss(err))
	}
	kind := model.ErrQueueBusy
	switch ReasonOf(OnQueue, err) {
	case queueDown:
		kind = model.ErrQueueDown
	case noQueue:
		kind = model.ErrQueueGone
	case othersQueue:
		kind = model.ErrQueueExclusive
	case exclusiveConsume:
		kind = model.ErrConsumeRefused
	case noReadRight:
		return fmt.Errorf("%s %s: %w", attempt, name, trouble.AMQPMayNotRead.With(trouble.Values{Detail: Words(err)}))
	case connectionEnded:
		return fmt.Errorf("%s %s: %w", attempt, name, Loss(err))
	}

	return fmt.Errorf("%s %s: %w (%s)", attempt, name, kind, Words(err))
}

// Loss words amqp091-go's error for a lost connection.
func Loss(err error) error {
	var e *amqp.Error
	if errors.Is(err, amqp.ErrClosed) || errors.As(err, &e) && (!e.Server || e.Code == amqp.ConnectionForced) {
		return fmt.Errorf("%w: %s", model.ErrConnectionLost, Words(err))
	}
	return err
}

// Words returns the broker's own words in an error, without amqp091-go's.
func Words(err error) string {
	var e *amqp.Error
	if errors.As(err, &e) {
		return model.Printable(e.Reason)
	}
	return model.Printable(err.Error())
}
