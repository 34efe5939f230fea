// Package trouble has the ways in which a broker cannot be reached, or refuses the login, and their sentences.
package trouble

// Kind is why a broker could not be reached or refused the login.
type Kind string

// The kinds that a caller acts on.
const (
	Unreachable    Kind = "unreachable"     // nothing listens; over AMQP also no such host, or a timeout
	NoSuchHost     Kind = "no such host"    // of the management API's URL
	NoAnswer       Kind = "no answer"       // the management API gave no answer in time, or an incomplete one
	TooSlow        Kind = "too slow"        // it accepted the connection; the next attempt gets more time
	BadCredentials Kind = "bad credentials" // user or password
	NoManagement   Kind = "no management"   // the management plugin does not answer
	NotAllowed     Kind = "not allowed"     // the user lacks a tag or a permission
	// of connections or channels, for a user, a vhost, a node or a connection
	AtLimit     Kind = "limit"
	NoSuchVHost Kind = "no such vhost"
	TwoBrokers  Kind = "two brokers" // AMQP and the management API lead to different brokers
	// TLS to a plain port, plain to a TLS port, or an untrusted certificate
	TLSMismatch Kind = "tls"
)

// Error says in one sentence what is wrong and what to do next. It never contains a password.
// Trouble.With makes it.
type Error struct {
	Kind  Kind
	Cause string // what happened, with the address: "nothing listens on localhost:5672"
	Next  string // the next step: "start RabbitMQ, or name another broker with --url"
}

// Error returns "cause: next step".
func (e *Error) Error() string { return e.Cause + ": " + e.Next }
