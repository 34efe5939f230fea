package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// connectError says in an operator's words why no connection could be made: a *model.ConnectError.
func (c *Client) connectError(ctx context.Context, err error, vhost string, w *wire) error {
	first, readErr := w.began()
	if w == nil {
		return c.unreachable(err)
	}
	if e := c.tlsError(err, first); e != nil {
		return e
	}
	switch {
	case strings.HasPrefix(first, "HTTP"), first == "" && c.uri.Scheme == "amqp" && c.speaksHTTP():
		return failure(model.Unreachable, "%s speaks HTTP, not AMQP", "give the AMQP port (5672 by default) in --url, and the management port in --api", c.address())
	case first != "" && first[0] != frameMethod:
		return failure(model.Unreachable, "%s does not speak AMQP 0-9-1", "give RabbitMQ's AMQP port (5672 by default) in --url", c.address())
	case timedOut(readErr) || timedOut(err) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure(model.Unreachable, "%s accepted the connection and then said nothing for %s", "check that it is RabbitMQ's AMQP port, and whether the broker is overloaded",
			c.address(), model.ShortDuration(c.timeout))
	}
	if e := c.loginError(err, vhost); e != nil {
		return e
	}
	if first == "" {
		return failure(model.Unreachable, "%s closed the connection without a word", "check that it is RabbitMQ's AMQP port (5672 by default; amqps:// for 5671)", c.address())
	}
	return failure(model.Unreachable, "%s ended the connection while it was made: %s", "try again, and look into the broker's log", c.address(), words(err))
}

// speaksHTTP asks the port in HTTP: RabbitMQ's management port says nothing to an AMQP client.
func (c *Client) speaksHTTP() bool {
	conn, err := net.DialTimeout("tcp", c.address(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "HEAD / HTTP/1.0\r\n\r\n"); err != nil {
		return false
	}
	answer := make([]byte, 5)
	_, err = io.ReadFull(conn, answer)
	return err == nil && string(answer) == "HTTP/"
}

// frameMethod is the first byte of what a broker says first: a method frame.
const frameMethod = 1

func failure(kind model.ConnectKind, cause, next string, values ...any) *model.ConnectError {
	return &model.ConnectError{Kind: kind, Cause: fmt.Sprintf(cause, values...), Next: next}
}

func timedOut(err error) bool {
	var e net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &e) && e.Timeout()
}

// unreachable explains why there is not even a TCP connection.
func (c *Client) unreachable(err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return failure(model.Unreachable, "there is no host named %s", "check the name in --url", model.Printable(c.uri.Host))
	case errors.As(err, &dns):
		return failure(model.Unreachable, "the host name %s could not be looked up (%s)", "check the network and the name in --url", model.Printable(c.uri.Host), dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		next := "start RabbitMQ there, or name another broker with --url"
		if c.uri.Port == 5672 && (c.uri.Host == "localhost" || c.uri.Host == "127.0.0.1" || c.uri.Host == "::1") {
			next = "start RabbitMQ, or name a broker with --url; `dlxtop demo` shows dlxtop on a throwaway broker"
		}
		return failure(model.Unreachable, "nothing listens on %s", next, c.address())
	case timedOut(err) || errors.Is(err, context.DeadlineExceeded):
		return failure(model.Unreachable, "%s did not answer within %s", "check host, port and firewall", c.address(), model.ShortDuration(c.timeout))
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return failure(model.Unreachable, "%s cannot be reached (%s)", "check host, port and network", c.address(), model.Printable(err.Error()))
}

// tlsError explains what is wrong with TLS, or its absence; nil when that is not it.
func (c *Client) tlsError(err error, first string) error {
	if c.uri.Scheme != "amqps" {
		// A TLS port answers a plain client with an alert record: type 21, version 3.x.
		if strings.HasPrefix(first, "\x15\x03") {
			return failure(model.TLSMismatch, "%s expects TLS", "use amqps:// in --url", c.address())
		}
		return nil
	}
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.As(err, &record):
		return failure(model.TLSMismatch, "%s does not speak TLS", "use amqp:// in --url, or the broker's TLS port (5671 by default)", c.address())
	case errors.As(err, &certificate):
		return failure(model.TLSMismatch, "the certificate of %s is not trusted (%s)", "name the right host, or give the authority's certificate (cacertfile=PATH in the URL)",
			c.address(), model.Printable(certificate.Err.Error()))
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return failure(model.TLSMismatch, "%s ended the TLS handshake (%s)", "check whether it wants a client certificate (certfile=… and keyfile=… in the URL)",
			c.address(), model.Printable(err.Error()))
	}
	return nil
}

// loginError explains why the broker did not let the user in; nil when it did not come so far.
func (c *Client) loginError(err error, vhost string) error {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return nil
	}
	user, name := model.Printable(c.uri.Username), model.Printable(vhost)
	reason := model.Printable(e.Reason)
	switch {
	case e == amqp.ErrSASL:
		return failure(model.BadCredentials, "%s offers no way to log in with a password", "ask for auth_mechanism=external in the URL if it wants a client certificate", c.address())
	case e == amqp.ErrCredentials, e.Server && e.Code == amqp.AccessRefused && !strings.Contains(e.Reason, "vhost"):
		next := "check user and password in --url"
		if c.uri.Username == "guest" {
			next += "; RabbitMQ lets guest in from its own machine only"
		}
		return failure(model.BadCredentials, "%s refused the user %s: wrong user or password", next, c.address(), user)
	case e.Server && strings.Contains(e.Reason, "not found"):
		return failure(model.NoSuchVHost, "there is no vhost %s on %s", "check the vhost in --url or --vhost (the default one is /)", name, c.address())
	case e.Server && strings.Contains(e.Reason, "limit"):
		return failure(model.NotAllowed, "%s takes no further connection (%s)", "raise the limit, or close connections", c.address(), reason)
	case e.Server && (e.Code == amqp.NotAllowed || e.Code == amqp.AccessRefused):
		return failure(model.NotAllowed, "the user %s may not enter the vhost %s", "grant it (rabbitmqctl set_permissions), or use another user or vhost", user, name)
	case e == amqp.ErrVhost:
		return failure(model.Unreachable, "%s closed the connection while the vhost %s was opened", "look into the broker's log", c.address(), name)
	}
	return nil
}
