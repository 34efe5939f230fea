package link

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
	"github.com/dlxtop/dlxtop/model/trouble"
)

// connectError explains to an operator why no connection could be made: a *trouble.Error.
func (p *attempt) connectError(ctx context.Context, err error, vhost string, w *wire.Conn) error {
	first, readErr := w.Heard()
	var unsafe *tlsFailure
	secured := !errors.As(err, &unsafe)
	if w == nil && secured {
		return p.unreachable(err)
	}
	if e := p.tlsError(err, first); e != nil {
		return e
	}

	// amqp091-go takes any end of the handshake for a refusal; a timeout is not one.
	late := timedOut(readErr) || timedOut(err) || errors.Is(ctx.Err(), context.DeadlineExceeded)
	if e := p.loginError(err, vhost); e != nil && (!late || e.Kind != trouble.Unreachable) {
		return e
	}
	switch {
	case strings.HasPrefix(first, "HTTP"), first == "" && p.uri.Scheme == "amqp" && p.speaksHTTP():
		return p.failed(trouble.AMQPIsHTTP, "")
	case first != "" && !wire.IsAMQP(first):
		return p.failed(trouble.AMQPOther, "")
	case late:
		return p.failed(trouble.AMQPSilent, model.ShortDuration(p.timeout))
	case first == "":
		return p.failed(trouble.AMQPHungUp, "")
	}

	return p.failed(trouble.AMQPEnded, Words(err))
}

// failed returns a trouble with this broker, and the other side's words.
func (p *attempt) failed(t trouble.Trouble, detail string) *trouble.Error {
	return t.With(trouble.Values{At: p.address, User: p.uri.Username, Detail: detail})
}

// speaksHTTP sends an HTTP request to the port: RabbitMQ's management port says nothing to an AMQP client.
func (p *attempt) speaksHTTP() bool {
	conn, err := net.DialTimeout("tcp", p.address, time.Second)
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
func (p *attempt) unreachable(err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return trouble.AMQPNoHost.With(trouble.Values{Name: model.HostOf(p.address)})
	case errors.As(err, &dns):
		return trouble.AMQPNoLookup.With(trouble.Values{Name: model.HostOf(p.address), Detail: dns.Err})
	case errors.Is(err, syscall.ECONNREFUSED):
		return p.failed(trouble.AMQPNothingListens, "")
	case timedOut(err) || errors.Is(err, context.DeadlineExceeded):
		return p.failed(trouble.AMQPSlow, model.ShortDuration(p.timeout))
	}

	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}

	return p.failed(trouble.AMQPNotReached, err.Error())
}

// tlsError explains a problem with TLS, or with its absence; nil for any other problem.
func (p *attempt) tlsError(err error, first string) error {
	if p.uri.Scheme != "amqps" {
		// A TLS port answers a plain client with an alert record: type 21, version 3.x.
		if strings.HasPrefix(first, "\x15\x03") {
			return p.failed(trouble.AMQPWantsTLS, "")
		}
		return nil
	}

	var record tls.RecordHeaderError
	var alert tls.AlertError
	if e := p.certificateError(err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &record):
		return p.failed(trouble.AMQPWithoutTLS, "")
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return p.failed(trouble.AMQPHandshake, err.Error())
	}

	return nil
}

// certificateError explains why the broker's certificate is not accepted; nil for any other problem.
func (p *attempt) certificateError(err error) error {
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
		return p.failed(trouble.AMQPNoAuthority, "")
	case errors.As(err, &hostname):
		return p.failed(trouble.AMQPOtherName, words)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return p.failed(trouble.CertificateExpired, words)
	}

	return p.failed(trouble.CertificateUntrusted, words)
}

// loginError explains why the broker refused the login; nil when it did not get that far. It is Unreachable when the
// connection ended without an answer.
func (p *attempt) loginError(err error, vhost string) *trouble.Error {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return nil
	}
	if reached := limitReached(err, p.uri.Username, vhost, 0); reached != nil {
		return reached
	}
	why := ReasonOf(OnLogin, err)
	values := trouble.Values{At: p.address, User: p.uri.Username, VHost: vhost}

	switch {
	case e == amqp.ErrSASL && len(p.uri.AuthMechanism) > 0:
		values.Name = strings.ToUpper(strings.Join(p.uri.AuthMechanism, ", "))
		return trouble.AMQPNoMechanism.With(values)
	case e == amqp.ErrSASL:
		return trouble.AMQPNoPassword.With(values)
	case e == amqp.ErrCredentials:
		return trouble.AMQPLoginClosed.With(values)
	case why == badLogin:
		if p.uri.Username == "guest" {
			return trouble.AMQPRefusesGuest.With(values)
		}
		return trouble.AMQPRefusesLogin.With(values)
	case why == noVHost:
		return trouble.AMQPNoVHost.With(values)
	case why == noVHostRight:
		return trouble.AMQPWithoutVHost.With(values)
	case e == amqp.ErrVhost:
		return trouble.AMQPVHostClosed.With(values)
	}

	return nil
}
