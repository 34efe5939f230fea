package link

import (
	_ "embed" // the texts
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"

	"github.com/BurntSushi/toml"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// Reason is why RabbitMQ refused something. AMQP 0-9-1 has one code for several reasons: only the text beside it says
// which. reasons.toml has the texts.
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

// Attempt is what was refused.
type Attempt string

const (
	OnQueue   Attempt = "queue"   // get, consume, declare
	OnLogin   Attempt = "login"   // opening a connection
	OnPublish Attempt = "publish" // basic.publish
	OnUnbind  Attempt = "unbind"  // unbinding the default exchange from another one
	onLimit   Attempt = "limit"   // any: it exceeds a limit of connections or channels
)

//go:embed reasons.toml
var reasonsFile string

// reason is one of RabbitMQ's answers, and its meaning.
type reason struct {
	Code   int // 0: any
	Said   pattern
	Reason Reason // for a limit: the name of its trouble
}

type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile("(?s)" + string(text))
	return err
}

var reasons = sync.OnceValue(func() (all map[Attempt][]reason) {
	if _, err := toml.Decode(reasonsFile, &all); err != nil {
		panic(err)
	}
	return all
})

// ReasonOf returns why the broker refused an attempt; UnknownReason when it was not the broker, or said something else.
func ReasonOf(on Attempt, err error) Reason {
	why, _ := reasonOf(on, err)
	return why
}

// reasonOf also returns what is marked in the broker's words.
func reasonOf(on Attempt, err error) (Reason, []string) {
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return UnknownReason, nil
	}
	for _, r := range reasons()[on] {
		if r.Code != 0 && r.Code != e.Code {
			continue
		}
		if found := r.Said.FindStringSubmatch(e.Reason); found != nil {
			return r.Reason, found[1:]
		}
	}

	return UnknownReason, nil
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

// Loss words the errors by which a lost connection shows: amqp091-go's own, and the operating system's where a write
// comes before anyone has noticed the loss.
func Loss(err error) error {
	var (
		said    *amqp.Error
		network *net.OpError
	)

	lost := errors.Is(err, amqp.ErrClosed) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
	if errors.As(err, &said) {
		lost = lost || !said.Server || said.Code == amqp.ConnectionForced
	}

	if lost {
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
