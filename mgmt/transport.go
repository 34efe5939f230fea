package mgmt

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	mostAtOnce   = 2                // requests in flight
	keptIdle     = 30 * time.Second // the broker closes an idle connection after 60 s (Cowboy's default)
	errorBody    = 4 << 10          // bytes of a refusal that are read: RabbitMQ's have some dozen
	drainedBytes = 64 << 10         // bytes read to keep a connection; if more are left, a new one is cheaper
)

// newTransport keeps connections between polls and asks for gzip, which net/http also decompresses (the list of 10,000
// queues shrinks from 9 MB to 70 kB). The timeout of a request includes connecting.
func newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     config,
		MaxIdleConnsPerHost: mostAtOnce,
		IdleConnTimeout:     keptIdle,
	}
}

// bound sends the requests of one call: a refusal becomes an *answerError with the broker's words. So does a redirect,
// which net/http would follow, with the password and even unencrypted: RabbitMQ redirects nothing that is requested
// here (3.10.8, 4.0.5, 4.3.6).
type bound struct {
	base  http.RoundTripper
	clock *clock // learns from each answer
	limit int64  // bytes of the answer
}

func (b bound) RoundTrip(req *http.Request) (*http.Response, error) {
	a := req.Context().Value(attemptKey{}).(*attempt)
	req = req.Clone(req.Context())
	req.URL.Host, req.Host = a.address, "" // of which net/http expects the certificate to be
	resp, err := b.roundTrip(req)
	// An answer 500 to a GET is often temporary. The API starts the cache of a list with the first request for it; of two
	// simultaneous ones, from any clients, one finds it being started. A list of queues has none while a stream is being
	// declared (both 3.10.8), which takes time on a busy machine. Such a machine may also close a connection that it has
	// just accepted.
	const first, last = 10 * time.Millisecond, 640 * time.Millisecond
	for pause := first; pause <= last && (hungUp(err) ||
		err == nil && resp.StatusCode == http.StatusInternalServerError); pause *= 4 {
		if err == nil {
			drained{resp.Body}.Close()
		}
		select {
		case <-req.Context().Done():
			return nil, req.Context().Err()
		case <-time.After(pause):
		}

		resp, err = b.roundTrip(req)
	}

	if err != nil {
		return nil, err
	}
	a.begun.Store(true)
	resp.Body = &shallow{ReadCloser: http.MaxBytesReader(nil, drained{resp.Body}, b.limit)}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}

	return resp, nil
}

// errHungUp means that a connection ended before an answer began.
var errHungUp = errors.New("the connection ended before an answer began")

// hungUp reports whether a connection ended before an answer began.
func hungUp(err error) bool {
	return errors.Is(err, errHungUp) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// roundTrip sends a request and learns the broker's time from the answer.
func (b bound) roundTrip(req *http.Request) (*http.Response, error) {
	// net/http's error for a new connection that ends before the request is written is not exported.
	var connected, answered atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { connected.Store(true) },
		GotFirstResponseByte: func() { answered.Store(true) },
	}))

	sent := time.Now()

	resp, err := b.base.RoundTrip(req)
	if err == nil {
		b.clock.measure(resp.Header.Get("Date"), sent, time.Now())
	} else if connected.Load() && !answered.Load() && req.Context().Err() == nil {
		err = fmt.Errorf("%w: %w", errHungUp, err)
	}

	return resp, err
}

// drained reads the rest of a body before closing it: only then is the connection reused. A JSON decoder stops at the
// end of the value, before the end of the body.
type drained struct{ io.ReadCloser }

func (d drained) Close() error {
	_, _ = io.CopyN(io.Discard, d.ReadCloser, drainedBytes)
	return d.ReadCloser.Close()
}

// answerError is an answer with an unsuccessful status.
type answerError struct {
	Status int
	Code   string // RabbitMQ's "error", "" when the body is not RabbitMQ's JSON
	Reason string // RabbitMQ's "reason", otherwise the beginning of a plain text body
	Leads  string // a redirect's target, without user, password and query
}

func (e *answerError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Reason)
}

// refusal reads RabbitMQ's words in a refusal: JSON with error and reason, or nothing at all (a 401 without
// credentials).
func refusal(resp *http.Response) *answerError {
	e := &answerError{Status: resp.StatusCode}
	if to, err := resp.Location(); err == nil && resp.StatusCode < http.StatusBadRequest {
		e.Leads = (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	}

	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	var words struct {
		Error  field[string] `json:"error"`
		Reason field[string] `json:"reason"`
	}

	if json.Unmarshal(body, &words) == nil {
		e.Code, e.Reason = words.Error.value, firstWords(words.Reason.value)
	} else if kind := resp.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/plain") || kind == "" {
		e.Reason = firstWords(string(body))
	}

	return e
}

// firstWords returns the first line of a foreign text, printable and short.
func firstWords(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return model.Beginning(text, 120)
}
