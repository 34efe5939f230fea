package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// What the three versions say, word by word, and what is made of it.
func TestLimitReached(t *testing.T) {
	const (
		notAllowed = "NOT_ALLOWED - "
		ofUser     = notAllowed + "number of channels opened for user '%s' has reached the maximum allowed user limit of %s"
		ofNode     = notAllowed + "number of channels opened on node 'rabbit@host' has reached the maximum allowed " +
			"limit of %s"
	)
	for said, want := range map[string][2]string{
		// 3.10.8; 4.0.5, which names the node; 4.3.6
		fmt.Sprintf(ofUser, "o'ps", "(1)"): {
			"the user o'ps may have 1 open channel (max-channels), and it is in use", "max-channels of this user",
		},
		fmt.Sprintf(ofUser, "rabbit@host", "(0)"): {
			"the user o'ps may have no open channel (max-channels is 0)", "max-channels of this user",
		},
		fmt.Sprintf(ofUser, "o'ps", "1200"): {
			"the user o'ps may have 1,200 open channels (max-channels), and all are in use", "max-channels of this user",
		},
		// 4.0.5; 4.3.6
		fmt.Sprintf(ofNode, "(3)"): {
			"the broker's node takes 3 open channels (channel_max_per_node), and all are in use", "rabbitmq.conf",
		},
		fmt.Sprintf(ofNode, "1"): {
			"the broker's node takes 1 open channel (channel_max_per_node), and it is in use", "rabbitmq.conf",
		},
		// 3.10.8, 4.0.5, 4.3.6
		notAllowed + "connection refused for user 'o'ps': user connection limit (2) is reached": {
			"the user o'ps may have 2 connections (max-connections), and all are in use", "max-connections of this user",
		},
		notAllowed + "access to vhost 'a limit' refused for user 'ops': connection limit (1) is reached": {
			"the vhost a limit takes 1 connection (max-connections), and it is in use", "max-connections of this vhost",
		},
		// 4.0.5, 4.3.6
		notAllowed + "connection refused: node connection limit (2) is reached": {
			"the broker's node takes 2 connections (connection_max), and all are in use", "rabbitmq.conf",
		},
		// Names that look like limits.
		notAllowed + "access to vhost 'user connection limit (1) is reached' refused for user 'ops'": {},
		notAllowed + "vhost the limit not found":                                                     {},
	} {
		err := &amqp.Error{Code: amqp.NotAllowed, Reason: said, Server: true}
		reached := limitReached(fmt.Errorf("dial: %w", err), "o'ps", "a limit", 0)
		switch {
		case want[0] == "" && reached == nil:
		case reached == nil || reached.Kind != model.AtLimit, reached.Cause != want[0],
			!strings.Contains(reached.Next, want[1]):
			t.Errorf("%s\ngot  %v\nwant %s", said, reached, want)
		}
	}
	const want = "the broker allows 1 channel for each connection (channel_max), and dlxtop needs 3"
	if got := limitReached(amqp.ErrChannelMax, "ops", "/", 1); got == nil || got.Cause != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got := limitReached(errors.New("user connection limit (1) is reached"), "ops", "/", 1); got != nil {
		t.Errorf("that is no error of the broker: %v", got)
	}
}

// Names of users and vhosts decide nothing, whatever they look like.
func TestLoginErrorIsNotMisledByNames(t *testing.T) {
	p := must.Get(New("amqp://ops:secret@localhost", nil, 0))(t)
	for said, kind := range map[string]model.ConnectKind{
		"NOT_ALLOWED - access to vhost 'limit not found' refused for user 'ops'":                model.NotAllowed,
		"NOT_ALLOWED - vhost user connection limit (1) is reached not found":                    model.NoSuchVHost,
		"NOT_ALLOWED - connection refused for user 'ops': user connection limit (1) is reached": model.AtLimit,
	} {
		var e *model.ConnectError
		err := p.loginError(&amqp.Error{Code: amqp.NotAllowed, Reason: said, Server: true}, "x")
		assert.That(t, errors.As(err, &e) && e.Kind == kind, "%s: %v is not %s", said, err, kind)
	}
}

// A try that the end of the time cuts short does not hide the limit that made it necessary.
func TestALimitIsTheReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	limit := &model.ConnectError{Kind: model.AtLimit}
	tries := 0
	err := Patiently(ctx, IsLimit, func() error {
		if tries++; tries == 1 {
			return limit
		}
		cancel()
		return ctx.Err()
	})
	assert.That(t, errors.Is(err, limit) && tries == 2, "after %d tries: %v", tries, err)
}
