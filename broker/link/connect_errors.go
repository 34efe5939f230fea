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
)

// connectError explains to an operator why no connection could be made: a *model.ConnectError.
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
	if e := p.loginError(err, vhost); e != nil && (!late || e.Kind != model.Unreachable) {
		return e
	}
	switch {
	case strings.HasPrefix(first, "HTTP"), first == "" && p.uri.Scheme == "amqp" && p.speaksHTTP():
		return p.failed(model.AMQPIsHTTP, "")
	case first != "" && !wire.IsAMQP(first):
		return p.failed(model.AMQPOther, "")
	case late:
		return p.failed(model.AMQPSilent, model.ShortDuration(p.timeout))
	case first == "":
		return p.failed(model.AMQPHungUp, "")
	}

	return p.failed(model.AMQPEnded, Words(err))
}

// failed returns a trouble with this broker, and the other side's words.
func (p *attempt) failed(trouble model.ConnectTrouble, detail string) *model.ConnectError {
	return trouble.With(model.ConnectValues{At: p.address, User: p.uri.Username, Detail: detail})
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
		return model.AMQPNoHost.With(model.ConnectValues{Name: model.HostOf(p.address)})
	case errors.As(err, &dns):
		return model.AMQPNoLookup.With(model.ConnectValues{Name: model.HostOf(p.address), Detail: dns.Err})
	case errors.Is(err, syscall.ECONNREFUSED):
		return p.failed(model.AMQPNothingListens, "")
	case timedOut(err) || errors.Is(err, context.DeadlineExceeded):
		return p.failed(model.AMQPSlow, model.ShortDuration(p.timeout))
	}

	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}

	return p.failed(model.AMQPNotReached, err.Error())
}

// tlsError explains a problem with TLS, or with its absence; nil for any other problem.
func (p *attempt) tlsError(err error, first string) error {
	if p.uri.Scheme != "amqps" {
		// A TLS port answers a plain client with an alert record: type 21, version 3.x.
		if strings.HasPrefix(first, "\x15\x03") {
			return p.failed(model.AMQPWantsTLS, "")
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
		return p.failed(model.AMQPWithoutTLS, "")
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return p.failed(model.AMQPHandshake, err.Error())
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
		return p.failed(model.AMQPNoAuthority, "")
	case errors.As(err, &hostname):
		return p.failed(model.AMQPOtherName, words)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return p.failed(model.CertificateExpired, words)
	}

	return p.failed(model.CertificateUntrusted, words)
}

// loginError explains why the broker refused the login; nil when it did not get that far. It is Unreachable when the
// connection ended without an answer.
func (p *attempt) loginError(err error, vhost string) *model.ConnectError {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return nil
	}
	if reached := limitReached(err, p.uri.Username, vhost, 0); reached != nil {
		return reached
	}
	why := ReasonOf(OnLogin, err)
	values := model.ConnectValues{At: p.address, User: p.uri.Username, VHost: vhost}

	switch {
	case e == amqp.ErrSASL && len(p.uri.AuthMechanism) > 0:
		values.Name = strings.ToUpper(strings.Join(p.uri.AuthMechanism, ", "))
		return model.AMQPNoMechanism.With(values)
	case e == amqp.ErrSASL:
		return model.AMQPNoPassword.With(values)
	case e == amqp.ErrCredentials:
		return model.AMQPLoginClosed.With(values)
	case why == badLogin:
		if p.uri.Username == "guest" {
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
