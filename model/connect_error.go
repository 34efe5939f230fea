package model

import "errors"

// ConnectKind is why a broker could not be reached or refused the login.
type ConnectKind string

// The kinds that a caller acts on.
const (
	Unreachable    ConnectKind = "unreachable"     // nothing listens; over AMQP also no such host, or a timeout
	NoSuchHost     ConnectKind = "no such host"    // of the management API's URL
	NoAnswer       ConnectKind = "no answer"       // the management API gave no answer in time, or an incomplete one
	TooSlow        ConnectKind = "too slow"        // it accepted the connection; the next attempt gets more time
	BadCredentials ConnectKind = "bad credentials" // user or password
	NoManagement   ConnectKind = "no management"   // the management plugin does not answer
	NotAllowed     ConnectKind = "not allowed"     // the user lacks a tag or a permission
	// of connections or channels, for a user, a vhost, a node or a connection
	AtLimit     ConnectKind = "limit"
	NoSuchVHost ConnectKind = "no such vhost"
	TwoBrokers  ConnectKind = "two brokers" // AMQP and the management API lead to different brokers
	// TLS to a plain port, plain to a TLS port, or an untrusted certificate
	TLSMismatch ConnectKind = "tls"
)

// ConnectError says in one sentence what is wrong and what to do next. It never contains a password.
// ConnectTrouble.With makes it.
type ConnectError struct {
	Kind  ConnectKind
	Cause string // what happened, with the address: "nothing listens on localhost:5672"
	Next  string // the next step: "start RabbitMQ, or name another broker with --url"
}

// Error returns "cause: next step".
func (e *ConnectError) Error() string { return e.Cause + ": " + e.Next }

// ErrConnectionLost means that a connection died, or was closed because the broker stops.
var ErrConnectionLost = errors.New("the connection to the broker was lost")

// Errors about one queue, to be found with errors.Is.
var (
	ErrQueueGone = errors.New("the queue does not exist any more")
	ErrQueueDown = errors.New("the queue exists, but cannot be used: its node is down, and it comes back " +
		"with its messages when that node starts")
	ErrQueueExclusive = errors.New("the queue is exclusive to another connection: only that connection can read it")
	ErrConsumeRefused = errors.New("a consumer with exclusive access is attached")
	ErrQueueBusy      = errors.New("the broker refused the read")
	ErrQueueSilent    = errors.New("the queue does not answer: its broker is very busy, its node went down, or it has " +
		"no leader now: try again in a moment")
)
