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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// errNoVHost means that the user sees no vhost at all, or not the selected one.
var errNoVHost = errors.New("no vhost is visible")

// slowError means that the client's own timeout ended a request.
type slowError struct {
	after    time.Duration
	accepted atomic.Bool // there was a connection
}

func (e *slowError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

// connectError explains what stopped a poll as a *model.ConnectError. A cancelled ctx is returned unchanged.
func (c *Client) connectError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("poll %s: %w", c.hosts.First(), ctx.Err())
	}
	if e, ok := errors.AsType[*model.ConnectError](err); ok {
		return e
	}
	if answer, ok := errors.AsType[*answerError](err); ok {
		return c.answered(answer)
	}
	if errors.Is(err, errNoVHost) {
		return c.failed(model.APIWithoutAnyVHost, "")
	}
	if e := c.tlsTrouble(err); e != nil {
		return e
	}

	return c.unreachable(err)
}

// answered explains a refusal. RabbitMQ says "not_authorized" when it does not accept the login (with the reason "Login
// failed" in 3.10, "Not_Authorized" in 4.x; no body at all without credentials), and "not_authorised" when it knows the
// user, who lacks the right. A vhost that the user may not see is 401 up to 4.0 and 404 in 4.3.
func (c *Client) answered(e *answerError) *model.ConnectError {
	switch {
	case e.Leads != "":
		return c.failed(model.APIRedirects, firstWords(e.Leads))
	case e.Status == http.StatusForbidden, e.Status == http.StatusUnauthorized && e.Code == "not_authorised":
		return c.notAllowed(e)
	case e.Status == http.StatusUnauthorized && c.user == "":
		return c.failed(model.APIWantsLogin, "")
	case e.Status == http.StatusUnauthorized:
		return c.failed(model.APIRefusesLogin, "")
	case e.Status == http.StatusNotFound && e.Code != "" && c.vhost != "":
		return c.failed(model.APIHidesVHost, "")
	case e.Status == http.StatusNotFound:
		return model.APINotHere.With(model.ConnectValues{At: c.address()})
	case reasonOf(e) == wantsTLS:
		return c.failed(model.APIWantsTLS, "")
	}

	return c.failed(model.APIAnswersOtherwise, e.Error())
}

// notAllowed explains what a known user lacks.
func (c *Client) notAllowed(e *answerError) *model.ConnectError {
	reason := reasonOf(e)
	switch {
	case reason == noTag:
		return c.failed(model.APIWithoutTag, "")
	case reason == localOnly:
		return c.failed(model.APILocalOnly, "")
	case c.vhost != "":
		return c.failed(model.APIWithoutVHost, "")
	}

	return c.failed(model.APINotAllowed, e.Error())
}

// tlsTrouble explains problems with TLS, or with a side speaking something else, and is nil for all others.
func (c *Client) tlsTrouble(err error) *model.ConnectError {
	var (
		record    tls.RecordHeaderError
		alert     tls.AlertError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
	)

	speaks := protocolOf(err)
	switch {
	case errors.As(err, &record) && beginsAMQP(record.RecordHeader[:]), speaks == speaksAMQP:
		return c.failed(model.APIIsAMQP, "")
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return c.failed(model.APIWithoutTLS, "")
	case speaks == speaksTLS:
		return c.failed(model.APIWantsTLS, "")
	case speaks == speaksOther:
		return c.failed(model.APINoHTTP, "")
	case errors.As(err, &authority):
		return c.failed(model.APINoAuthority, "")
	case errors.As(err, &hostname):
		return c.failed(model.APIOtherName, hostname.Error())
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return c.failed(model.CertificateExpired, invalid.Error())
	case errors.As(err, &verify):
		return c.failed(model.CertificateUntrusted, verify.Err.Error())
	case errors.As(err, &alert):
		return c.failed(model.APIHandshake, alert.Error())
	}

	return nil
}

// unreachable explains the rest: no answer, or one that no broker would give.
func (c *Client) unreachable(err error) *model.ConnectError {
	var (
		dns      *net.DNSError
		slow     *slowError
		netError net.Error
		syntax   *json.SyntaxError
		endless  endlessError
		large    *http.MaxBytesError
	)

	switch {
	case errors.As(err, &endless):
		return model.APIEndless.With(model.ConnectValues{At: c.address(), Detail: endless.what})
	case errors.As(err, &large):
		return model.APIEndless.With(model.ConnectValues{At: c.address(), Detail: bytesOf(large.Limit)})
	case errors.As(err, &syntax), errors.Is(err, errOtherJSON):
		return model.APIOtherJSON.With(model.ConnectValues{At: c.address()})
	case errors.As(err, &dns) && dns.IsNotFound:
		return model.APINoHost.With(model.ConnectValues{Name: dns.Name})
	case errors.As(err, &dns):
		return model.APINoLookup.With(model.ConnectValues{Name: dns.Name, Detail: dns.Err})
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.failed(model.APINothingListens, "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return c.failed(model.APIBrokeOff, "")
	case hungUp(err):
		return c.failed(model.APIHungUp, "")
	case errors.As(err, &slow) && slow.accepted.Load():
		return c.failed(model.APISilent, slow.after.String())
	case errors.As(err, &slow):
		return c.failed(model.APISlow, slow.after.String())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netError) && netError.Timeout():
		return c.failed(model.APILate, "")
	}

	return c.failed(model.APINotReached, innermost(err).Error())
}

// address returns the endpoint at the host that was asked.
func (c *Client) address() string {
	return strings.Replace(c.endpoint, c.hosts.First(), c.hosts.Current(), 1)
}

// failed returns a trouble with this API, and the other side's words.
func (c *Client) failed(trouble model.ConnectTrouble, detail string) *model.ConnectError {
	return trouble.With(model.ConnectValues{At: c.hosts.Current(), User: c.user, VHost: c.vhost, Detail: detail})
}

// innermost returns an error without the request's line, as the address is already named.
func innermost(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
