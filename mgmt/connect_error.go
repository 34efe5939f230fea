package mgmt

import (
	"cmp"
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

	"github.com/dlxtop/dlxtop/model/trouble"
)

// errNoVHost means that the user sees no vhost at all, or not the selected one.
var errNoVHost = errors.New("no vhost is visible")

// slowError means that the client's own timeout ended a request.
type slowError struct {
	after    time.Duration
	accepted atomic.Bool // there was a connection
}

func (e *slowError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

// connectError explains what stopped a poll as a *trouble.Error. A cancelled ctx is returned unchanged.
func (c *Client) connectError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("poll %s: %w", c.hosts.First(), ctx.Err())
	}
	if e, ok := errors.AsType[*trouble.Error](err); ok {
		return e
	}
	if answer, ok := errors.AsType[*answerError](err); ok {
		return c.answered(answer)
	}
	if errors.Is(err, errNoVHost) {
		return c.failed(trouble.APIWithoutAnyVHost, "")
	}
	return cmp.Or(c.tlsTrouble(err), c.unreachable(err))
}

// answered explains a refusal. RabbitMQ says "not_authorized" when it does not accept the login (with the reason "Login
// failed" in 3.10, "Not_Authorized" in 4.x; no body at all without credentials), and "not_authorised" when it knows the
// user, who lacks the right. A vhost that the user may not see is 401 up to 4.0 and 404 in 4.3.
func (c *Client) answered(e *answerError) *trouble.Error {
	switch {
	case e.Leads != "":
		return c.failed(trouble.APIRedirects, firstWords(e.Leads))
	case e.Status == http.StatusForbidden, e.Status == http.StatusUnauthorized && e.Code == "not_authorised":
		return c.notAllowed(e)
	case e.Status == http.StatusUnauthorized && c.user == "":
		return c.failed(trouble.APIWantsLogin, "")
	case e.Status == http.StatusUnauthorized:
		return c.failed(trouble.APIRefusesLogin, "")
	case e.Status == http.StatusNotFound && e.Code != "" && c.vhost != "":
		return c.failed(trouble.APIHidesVHost, "")
	case e.Status == http.StatusNotFound:
		return trouble.APINotHere.With(trouble.Values{At: c.address()})
	case reasonOf(e) == wantsTLS:
		return c.failed(trouble.APIWantsTLS, "")
	}

	return c.failed(trouble.APIAnswersOtherwise, e.Error())
}

// notAllowed explains what a known user lacks.
func (c *Client) notAllowed(e *answerError) *trouble.Error {
	reason := reasonOf(e)
	switch {
	case reason == noTag:
		return c.failed(trouble.APIWithoutTag, "")
	case reason == localOnly:
		return c.failed(trouble.APILocalOnly, "")
	case c.vhost != "":
		return c.failed(trouble.APIWithoutVHost, "")
	}

	return c.failed(trouble.APINotAllowed, e.Error())
}

// tlsTrouble explains problems with TLS, or with a side speaking something else, and is nil for all others.
func (c *Client) tlsTrouble(err error) *trouble.Error {
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
	case errors.As(err, &record) && strings.HasPrefix(string(record.RecordHeader[:]), "AMQP"), speaks == speaksAMQP:
		return c.failed(trouble.APIIsAMQP, "")
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return c.failed(trouble.APIWithoutTLS, "")
	case speaks == speaksTLS:
		return c.failed(trouble.APIWantsTLS, "")
	case speaks == speaksOther:
		return c.failed(trouble.APINoHTTP, "")
	case errors.As(err, &authority):
		return c.failed(trouble.APINoAuthority, "")
	case errors.As(err, &hostname):
		return c.failed(trouble.APIOtherName, hostname.Error())
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return c.failed(trouble.CertificateExpired, invalid.Error())
	case errors.As(err, &verify):
		return c.failed(trouble.CertificateUntrusted, verify.Err.Error())
	case errors.As(err, &alert):
		return c.failed(trouble.APIHandshake, alert.Error())
	}

	return nil
}

// unreachable explains the rest: no answer, or one that no broker would give.
func (c *Client) unreachable(err error) *trouble.Error {
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
		return trouble.APIEndless.With(trouble.Values{At: c.address(), Detail: endless.what})
	case errors.As(err, &large):
		return trouble.APIEndless.With(trouble.Values{At: c.address(), Detail: bytesOf(large.Limit)})
	case errors.As(err, &syntax), errors.Is(err, errOtherJSON):
		return trouble.APIOtherJSON.With(trouble.Values{At: c.address()})
	case errors.As(err, &dns) && dns.IsNotFound:
		return trouble.APINoHost.With(trouble.Values{Name: dns.Name})
	case errors.As(err, &dns):
		return trouble.APINoLookup.With(trouble.Values{Name: dns.Name, Detail: dns.Err})
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.failed(trouble.APINothingListens, "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return c.failed(trouble.APIBrokeOff, "")
	case hungUp(err):
		return c.failed(trouble.APIHungUp, "")
	case errors.As(err, &slow) && slow.accepted.Load():
		return c.failed(trouble.APISilent, slow.after.String())
	case errors.As(err, &slow):
		return c.failed(trouble.APISlow, slow.after.String())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netError) && netError.Timeout():
		return c.failed(trouble.APILate, "")
	}

	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err // without the request's line, as the address is already named
	}
	return c.failed(trouble.APINotReached, err.Error())
}

// address returns the endpoint at the host that was asked.
func (c *Client) address() string {
	return strings.Replace(c.endpoint, c.hosts.First(), c.hosts.Current(), 1)
}

// failed returns a trouble with this API, and the other side's words.
func (c *Client) failed(t trouble.Trouble, detail string) *trouble.Error {
	return t.With(trouble.Values{At: c.hosts.Current(), User: c.user, VHost: c.vhost, Detail: detail})
}
