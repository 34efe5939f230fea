package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
)

// connectError says in an operator's words why no connection could be made: a *model.ConnectError.
func (c *Client) connectError(ctx context.Context, err error, vhost string, w *wire.Conn) error {
	first, readErr := w.Heard()
	var unsafe *tlsFailure
	secured := !errors.As(err, &unsafe)
	if w == nil && secured {
		return c.unreachable(err)
	}
	if e := c.tlsError(err, first); e != nil {
		return e
	}
	// amqp091-go takes any end of the handshake for a refusal; when time is over it is none.
	late := timedOut(readErr) || timedOut(err) || errors.Is(ctx.Err(), context.DeadlineExceeded)
	if e := c.loginError(err, vhost); e != nil && (!late || e.Kind != model.Unreachable) {
		return e
	}
	switch {
	case strings.HasPrefix(first, "HTTP"), first == "" && c.uri.Scheme == "amqp" && c.speaksHTTP():
		return c.failed(model.AMQPIsHTTP, "")
	case first != "" && !wire.IsAMQP(first):
		return c.failed(model.AMQPOther, "")
	case late:
		return c.failed(model.AMQPSilent, model.ShortDuration(c.timeout))
	case first == "":
		return c.failed(model.AMQPHungUp, "")
	}
	return c.failed(model.AMQPEnded, words(err))
}

// failed is a trouble with this broker, and what the other side says.
func (c *Client) failed(trouble model.ConnectTrouble, detail string) *model.ConnectError {
	return trouble.With(model.ConnectValues{At: c.address(), User: c.uri.Username, Detail: detail})
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

func timedOut(err error) bool {
	var e net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &e) && e.Timeout()
}

// unreachable explains why there is not even a TCP connection.
func (c *Client) unreachable(err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return model.AMQPNoHost.With(model.ConnectValues{Name: c.uri.Host})
	case errors.As(err, &dns):
		return model.AMQPNoLookup.With(model.ConnectValues{Name: c.uri.Host, Detail: dns.Err})
	case errors.Is(err, syscall.ECONNREFUSED):
		if c.uri.Port == 5672 && (c.uri.Host == "localhost" || c.uri.Host == "127.0.0.1" || c.uri.Host == "::1") {
			return c.failed(model.AMQPNothingHere, "")
		}
		return c.failed(model.AMQPNothingListens, "")
	case timedOut(err) || errors.Is(err, context.DeadlineExceeded):
		return c.failed(model.AMQPSlow, model.ShortDuration(c.timeout))
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return c.failed(model.AMQPNotReached, err.Error())
}

// tlsError explains what is wrong with TLS, or its absence; nil when that is not it.
func (c *Client) tlsError(err error, first string) error {
	if c.uri.Scheme != "amqps" {
		// A TLS port answers a plain client with an alert record: type 21, version 3.x.
		if strings.HasPrefix(first, "\x15\x03") {
			return c.failed(model.AMQPWantsTLS, "")
		}
		return nil
	}
	var record tls.RecordHeaderError
	var alert tls.AlertError
	if e := c.certificateError(err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &record):
		return c.failed(model.AMQPWithoutTLS, "")
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return c.failed(model.AMQPHandshake, err.Error())
	}
	return nil
}

// certificateError explains why the broker's certificate does not do; nil when that is not it.
func (c *Client) certificateError(err error) error {
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
	)
	if !errors.As(err, &certificate) {
		return nil
	}
	words := certificate.Err.Error()
	switch {
	case errors.As(err, &authority):
		return c.failed(model.AMQPNoAuthority, "")
	case errors.As(err, &hostname):
		return c.failed(model.AMQPOtherName, words)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return c.failed(model.CertificateExpired, words)
	}
	return c.failed(model.CertificateUntrusted, words)
}

// loginError explains why the broker did not let the user in; nil when it did not come so far. It is Unreachable when
// the connection ended without the broker's word.
func (c *Client) loginError(err error, vhost string) *model.ConnectError {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return nil
	}
	if reached := limitReached(err, c.uri.Username, vhost, 0); reached != nil {
		return reached
	}
	why, values := reasonOf(onLogin, err), model.ConnectValues{At: c.address(), User: c.uri.Username, VHost: vhost}
	switch {
	case e == amqp.ErrSASL && len(c.uri.AuthMechanism) > 0:
		values.Name = strings.ToUpper(strings.Join(c.uri.AuthMechanism, ", "))
		return model.AMQPNoMechanism.With(values)
	case e == amqp.ErrSASL:
		return model.AMQPNoPassword.With(values)
	case e == amqp.ErrCredentials:
		return model.AMQPLoginClosed.With(values)
	case why == badLogin:
		if c.uri.Username == "guest" {
			return model.AMQPRefusesGuest.With(values)
		}
		return model.AMQPRefusesLogin.With(values)
	case why == noVHost:
		return model.AMQPNoVHost.With(values)
	case why == noVHostRight:
		return model.AMQPWithoutVHost.With(values)
	case e == amqp.ErrVhost:
		return model.AMQPVHostClosed.With(values)
	}
	return nil
}
