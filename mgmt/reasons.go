package mgmt

import (
	"net/http"
	"strings"
)

// reason is why a request failed, if status and error name leave that open: then only RabbitMQ's words say it.
type reason string

const (
	unknownReason reason = ""
	wantsTLS      reason = "wants TLS"
	noTag         reason = "no tag"     // the user may not use the management API
	localOnly     reason = "local only" // the user may only connect from the broker's machine
)

// reasonOf returns why a request failed, as far as the answer's words say. It knows:
//
//   - a proxy's plain text: The plain HTTP request was sent to HTTPS port
//   - not_authorised: Not management user (3.10.8, 4.0.5, 4.3.6)
//   - not_authorised: User can only log in via localhost (not measured)
func reasonOf(e *answerError) reason {
	words := strings.ToLower(e.Reason)
	switch {
	case e.Status == http.StatusBadRequest && strings.Contains(words, "https"):
		return wantsTLS
	case strings.Contains(words, "management user"):
		return noTag
	case strings.Contains(words, "localhost"):
		return localOnly
	}

	return unknownReason
}

// protocol is what a port speaks instead of HTTP, as net/http's error says: "malformed HTTP response", with the first
// bytes in quotes.
type protocol int

const (
	speaksHTTP protocol = iota
	speaksAMQP
	speaksTLS
	speaksOther
)

// protocolOf recognizes the protocol in net/http's error.
func protocolOf(err error) protocol {
	words := err.Error()
	switch {
	case !strings.Contains(words, "malformed HTTP"):
		return speaksHTTP
	case strings.Contains(words, `"AMQP`):
		return speaksAMQP
	case strings.Contains(words, `"\x15\x03`): // a TLS alert, in TLS 1.0 to 1.3
		return speaksTLS
	}

	return speaksOther
}
