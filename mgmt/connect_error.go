package mgmt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"dlxtop/model"
)

// errNoVHost is a user who sees no vhost at all, or not the chosen one.
var errNoVHost = errors.New("no vhost is visible")

// slowError is a request that the client's own timeout ended.
type slowError struct{ after time.Duration }

// Error implements error.
func (e slowError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

const (
	startIt = "start RabbitMQ and its management API (rabbitmq-plugins enable rabbitmq_management), or name another broker with --api; " +
		"`dlxtop demo` shows it all without a broker of your own"
	nameIt = "enable the management API (rabbitmq-plugins enable rabbitmq_management), or name its address with --api: its port is usually 15672"
)

// connectError says what stopped a poll as a *model.ConnectError. A cancelled ctx is nobody's fault and stays what it is.
func (c *Client) connectError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("poll %s: %w", c.address, ctx.Err())
	}
	if e, ok := asConnectError(err); ok {
		return e
	}
	if answer, ok := asAnswer(err); ok {
		return c.answered(answer)
	}
	if errors.Is(err, errNoVHost) {
		return c.seesNoVHost()
	}
	if e := c.tlsTrouble(err); e != nil {
		return e
	}
	return c.unreachable(err)
}

// answered explains a refusal. RabbitMQ says "not_authorized" when it does not accept the login (with the reason "Login
// failed" in 3.10, "Not_Authorized" in 4.x; no body at all without credentials), and "not_authorised" when it knows the
// user who may not do it. A vhost that the user may not see is 401 up to 4.0 and 404 in 4.3.
func (c *Client) answered(e *answerError) *model.ConnectError {
	switch {
	case e.Status == http.StatusForbidden, e.Status == http.StatusUnauthorized && e.Code == "not_authorised":
		return c.notAllowed(e)
	case e.Status == http.StatusUnauthorized && c.user == "":
		return failed(model.BadCredentials,
			fmt.Sprintf("%s asks for a user and a password", c.address),
			fmt.Sprintf("name them in the URL, for example --api http://user:password@%s", c.address))
	case e.Status == http.StatusUnauthorized:
		return failed(model.BadCredentials,
			fmt.Sprintf("%s does not accept user %s with this password", c.address, c.user),
			fmt.Sprintf("check both; on the broker's machine, `rabbitmqctl authenticate_user %s PASSWORD` tries them", c.user))
	case e.Status == http.StatusNotFound && e.Code != "" && c.vhost != "":
		return failed(model.NoSuchVHost,
			fmt.Sprintf("vhost %s does not exist on %s, or user %s may not see it", c.vhost, c.address, c.user),
			fmt.Sprintf("check --vhost; `rabbitmqctl list_vhosts` names those that exist, and `rabbitmqctl list_user_permissions %s` those that the user may see", c.user))
	case e.Status == http.StatusNotFound:
		return failed(model.NoManagement,
			fmt.Sprintf("%s has no RabbitMQ management API at this address (404)", c.endpoint),
			nameIt)
	case e.Status == http.StatusBadRequest && strings.Contains(strings.ToUpper(e.Reason), "HTTPS"):
		return failed(model.TLSMismatch,
			fmt.Sprintf("%s expects TLS", c.address),
			"write https:// instead of http:// in --api")
	}
	return failed(model.NoManagement,
		fmt.Sprintf("%s answers %s", c.address, e),
		"look into the broker's log; if this is not RabbitMQ's management API, name its address with --api: its port is usually 15672")
}

// notAllowed explains what a known user lacks.
func (c *Client) notAllowed(e *answerError) *model.ConnectError {
	reason := strings.ToLower(e.Reason)
	switch {
	case strings.Contains(reason, "management user"):
		return failed(model.NotAllowed,
			fmt.Sprintf("user %s may not use the management API of %s", c.user, c.address),
			fmt.Sprintf("give the user the tag: rabbitmqctl set_user_tags %s management", c.user))
	case strings.Contains(reason, "localhost"):
		return failed(model.NotAllowed,
			fmt.Sprintf("%s lets user %s in only from its own machine", c.address, c.user),
			"run dlxtop there, or use another user")
	case c.vhost != "":
		return failed(model.NotAllowed,
			fmt.Sprintf("user %s has no permission on vhost %s of %s", c.user, c.vhost, c.address),
			fmt.Sprintf("give it one: rabbitmqctl set_permissions -p %s %s '^$' '.*' '.*'", c.vhost, c.user))
	}
	return failed(model.NotAllowed,
		fmt.Sprintf("%s does not allow this to user %s (%s)", c.address, c.user, e),
		fmt.Sprintf("give the user the tag and a permission: rabbitmqctl set_user_tags %s management", c.user))
}

// seesNoVHost explains an answer without anything in it.
func (c *Client) seesNoVHost() *model.ConnectError {
	return failed(model.NotAllowed,
		fmt.Sprintf("user %s has no permission on any vhost of %s", c.user, c.address),
		fmt.Sprintf("give it one: rabbitmqctl set_permissions -p / %s '^$' '.*' '.*'", c.user))
}

// tlsTrouble explains what went wrong with TLS, or with one side speaking something else, and is nil for all else.
func (c *Client) tlsTrouble(err error) *model.ConnectError {
	var (
		record    tls.RecordHeaderError
		alert     tls.AlertError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
	)
	malformed := strings.Contains(err.Error(), "malformed HTTP")
	switch {
	case errors.As(err, &record) && strings.HasPrefix(string(record.RecordHeader[:]), "AMQP"),
		malformed && strings.Contains(err.Error(), `"AMQP`):
		return failed(model.NoManagement,
			fmt.Sprintf("%s looks like the AMQP port, not the management API", c.address),
			"name the API with --api: its port is usually 15672 (15671 with TLS)")
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return failed(model.TLSMismatch,
			fmt.Sprintf("%s does not speak TLS", c.address),
			"write http:// instead of https:// in --api, or name the port that has TLS (usually 15671)")
	case malformed && strings.Contains(err.Error(), `"\x15\x03`): // a TLS alert, in TLS 1.0 to 1.3
		return failed(model.TLSMismatch,
			fmt.Sprintf("%s expects TLS", c.address),
			"write https:// instead of http:// in --api")
	case malformed:
		return failed(model.NoManagement,
			fmt.Sprintf("%s does not speak HTTP", c.address),
			nameIt)
	case errors.As(err, &authority):
		return failed(model.TLSMismatch,
			fmt.Sprintf("the certificate of %s is signed by an authority that this machine does not trust", c.address),
			"make it trust that authority, for example with SSL_CERT_FILE=authority.pem in the environment")
	case errors.As(err, &hostname):
		return failed(model.TLSMismatch,
			fmt.Sprintf("the certificate of %s is for another name (%s)", c.address, hostname),
			"use the name that the certificate has in --api")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failed(model.TLSMismatch,
			fmt.Sprintf("the certificate of %s is not valid at this time (%s)", c.address, invalid),
			"renew it, or set this machine's clock")
	case errors.As(err, &verify):
		return failed(model.TLSMismatch,
			fmt.Sprintf("the certificate of %s cannot be trusted (%s)", c.address, verify.Err),
			"have it replaced")
	case errors.As(err, &alert):
		return failed(model.TLSMismatch,
			fmt.Sprintf("%s refuses the TLS handshake (%s)", c.address, alert),
			"check whether it asks for a client certificate or for another version of TLS")
	}
	return nil
}

// unreachable explains the rest: what no broker answered, or what no broker answers.
func (c *Client) unreachable(err error) *model.ConnectError {
	var (
		dns    *net.DNSError
		slow   slowError
		net    net.Error
		syntax *json.SyntaxError
	)
	switch {
	case errors.As(err, &syntax), errors.Is(err, errOtherJSON):
		return failed(model.NoManagement,
			fmt.Sprintf("%s answers, but not as RabbitMQ's management API does", c.endpoint),
			nameIt)
	case errors.As(err, &dns) && dns.IsNotFound:
		return failed(model.Unreachable,
			fmt.Sprintf("there is no host named %s", dns.Name),
			"check the name in --api")
	case errors.As(err, &dns):
		return failed(model.Unreachable,
			fmt.Sprintf("the name %s cannot be looked up (%s)", dns.Name, dns.Err),
			"check the network, or write the broker's IP address in --api")
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed(model.Unreachable,
			fmt.Sprintf("nothing listens on %s", c.address),
			startIt)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return failed(model.Unreachable,
			fmt.Sprintf("the answer of %s broke off", c.address),
			"try again; if it stays so, look into the broker's log and that of a proxy before it")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return failed(model.Unreachable,
			fmt.Sprintf("%s closed the connection without an answer", c.address),
			"check that the broker runs, and that --api names its management port, with https:// if that port has TLS")
	case errors.As(err, &slow):
		return failed(model.Unreachable,
			fmt.Sprintf("%s gave no answer within %s", c.address, slow.after),
			"check the network and the load of the broker, or name another with --api")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &net) && net.Timeout():
		return failed(model.Unreachable,
			fmt.Sprintf("%s gave no answer in time", c.address),
			"check the network and the load of the broker, or name another with --api")
	}
	return failed(model.Unreachable,
		fmt.Sprintf("%s cannot be reached (%s)", c.address, innermost(err)),
		startIt)
}

func failed(kind model.ConnectKind, cause, next string) *model.ConnectError {
	return &model.ConnectError{Kind: kind, Cause: cause, Next: next}
}

// innermost is an error without the request's line, which the address already tells.
func innermost(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

func asAnswer(err error) (*answerError, bool) {
	var e *answerError
	return e, errors.As(err, &e)
}

func asConnectError(err error) (*model.ConnectError, bool) {
	var e *model.ConnectError
	return e, errors.As(err, &e)
}
