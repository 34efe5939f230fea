package model

import (
	"errors"
	"fmt"
)

// ConnectKind is why a broker could not be reached or did not let us in.
type ConnectKind string

// The kinds that a caller acts on.
const (
	Unreachable    ConnectKind = "unreachable"     // nobody listens, no such host, a timeout
	BadCredentials ConnectKind = "bad credentials" // user or password
	NoManagement   ConnectKind = "no management"   // the management plugin does not answer
	NotAllowed     ConnectKind = "not allowed"     // the user lacks a tag or a permission
	NoSuchVHost    ConnectKind = "no such vhost"
	TwoBrokers     ConnectKind = "two brokers" // AMQP and the management API lead to different ones
	TLSMismatch    ConnectKind = "tls"         // TLS to a plain port, plain to a TLS port, or a certificate that is not trusted
)

// ConnectError says in one sentence what is wrong and what to do next. It never carries a password.
type ConnectError struct {
	Kind  ConnectKind
	Cause string // what happened, with the address: "nothing listens on localhost:5672"
	Next  string // the next step: "start RabbitMQ, or name another broker with --url"
}

// Error is "cause: next step".
func (e *ConnectError) Error() string { return e.Cause + ": " + e.Next }

// OtherCluster is that an address leads to another cluster than it did before.
func OtherCluster(address, now, before string) *ConnectError {
	return &ConnectError{
		Kind:  TwoBrokers,
		Cause: fmt.Sprintf("%s belongs to the cluster %s now, and belonged to %s when dlxtop began", address, Printable(now), Printable(before)),
		Next:  "start dlxtop again, if it is to work on that one",
	}
}

// Errors about one queue, to be found with errors.Is.
var (
	ErrQueueGone      = errors.New("the queue does not exist any more")
	ErrQueueExclusive = errors.New("the queue is exclusive to another connection: only that connection can read it")
	ErrConsumeRefused = errors.New("a consumer with exclusive access is attached")
	ErrQueueBusy      = errors.New("the broker refused the read")
)
