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

// reasons map RabbitMQ's words to their meaning; the first match counts.
var reasons = []struct {
	status int    // 0: any
	text   string // contained in the words, in lower case
	reason reason
	said   string // an example, with the versions that it was measured on
}{
	{http.StatusBadRequest, "https", wantsTLS, "a proxy's plain text: The plain HTTP request was sent to HTTPS port"},
	{0, "management user", noTag, "not_authorised: Not management user (3.10.8, 4.0.5, 4.3.6)"},
	{0, "localhost", localOnly, "not_authorised: User can only log in via localhost (not measured)"},
}

// reasonOf is why a request failed, as far as the answer's words say.
func reasonOf(e *answerError) reason {
	words := strings.ToLower(e.Reason)
	for _, r := range reasons {
		if (r.status == 0 || r.status == e.Status) && strings.Contains(words, r.text) {
			return r.reason
		}
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

// beginsAMQP reports whether an invalid TLS record begins like AMQP.
func beginsAMQP(header []byte) bool { return strings.HasPrefix(string(header), "AMQP") }
