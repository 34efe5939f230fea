package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// The exact words of the three versions, and the resulting errors.
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
		case reached == nil || reached.Kind != trouble.AtLimit, reached.Cause != want[0],
			!strings.Contains(reached.Next, want[1]):
			t.Errorf("%s\ngot  %v\nwant %s", said, reached, want)
		}
	}

	const want = "the broker allows 1 channel for each connection (channel_max), and dlxtop needs 3"
	got := limitReached(amqp.ErrChannelMax, "ops", "/", 1)
	must.That(t, got != nil, "got %v, want %s", got, want)
	assert.Equal(t, got.Cause, want)
	got = limitReached(errors.New("user connection limit (1) is reached"), "ops", "/", 1)
	assert.That(t, got == nil, "that is no error of the broker: %v", got)
}

// Names of users and vhosts must not matter, whatever they look like.
func TestLoginErrorIsNotMisledByNames(t *testing.T) {
	p := must.Get(New("amqp://ops:secret@localhost", nil, nil, nil, 0))(t)
	for said, kind := range map[string]trouble.Kind{
		"NOT_ALLOWED - access to vhost 'limit not found' refused for user 'ops'":                trouble.NotAllowed,
		"NOT_ALLOWED - vhost user connection limit (1) is reached not found":                    trouble.NoSuchVHost,
		"NOT_ALLOWED - connection refused for user 'ops': user connection limit (1) is reached": trouble.AtLimit,
	} {
		var e *trouble.Error
		err := (&attempt{p, p.Address(), 0}).loginError(&amqp.Error{Code: amqp.NotAllowed, Reason: said, Server: true}, "x")
		must.That(t, errors.As(err, &e), "%s: %v is not %s", said, err, kind)
		assert.Equal(t, e.Kind, kind, "%v", said)
	}
}

// An attempt that is cut short does not hide the limit that made it necessary.
func TestALimitIsTheReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	limit := &trouble.Error{Kind: trouble.AtLimit}
	tries := 0
	err := Patiently(ctx, IsLimit, func() error {
		if tries++; tries == 1 {
			return limit
		}
		cancel()
		return ctx.Err()
	})

	assert.That(t, errors.Is(err, limit), "after %d tries: %v", tries, err)
	assert.Equal(t, tries, 2)
}

// An answer after the limit is only believed where each round trip takes about as long: a single slow one, on a busy
// machine, proves nothing.
func TestAnswersInTime(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		took  time.Duration
		alone []time.Duration
		want  bool
	}{
		{"at once", 3 * ms, nil, true},
		{"the limit", 251 * ms, []time.Duration{1 * ms}, false},
		{"the limit of a clock that catches up", 248 * ms, []time.Duration{1 * ms}, false},
		{"the limit, on a busy machine", 255 * ms, []time.Duration{60 * ms}, false},
		{"the limit, on a machine that stands still for a moment", 255 * ms, []time.Duration{180 * ms, 2 * ms}, false},
		{"the limit behind a slow way", 400 * ms, []time.Duration{150 * ms}, false},
		{"a slow way", 310 * ms, []time.Duration{305 * ms, 290 * ms, 330 * ms}, true},
	} {
		asked, trips := 0, roundTrips{}
		got, err := trips.inTime(test.took, func() (time.Duration, error) {
			asked++
			return test.alone[asked-1], nil
		})
		must.That(t, err == nil, "%s: %v after %d round trips, %v; want %v after %d", test.name, got, asked, err, test.want,
			len(test.alone))
		assert.Equal(t, got, test.want, "%v", test.name)
		assert.Equal(t, asked, len(test.alone), "%v", test.name)
	}

	before := roundTrips{}
	before.add(4 * ms) // in a quieter moment
	if got, err := before.inTime(260*ms, func() (time.Duration, error) { return 200 * ms, nil }); got || err != nil {
		t.Errorf("the limit, while each round trip takes as long: %v, %v", got, err)
	}

	believed := false
	for range before.last {
		believed, _ = before.inTime(310*ms, func() (time.Duration, error) { return 305 * ms, nil })
	}

	assert.That(t, believed, "a way that has become slow is never believed")
	var none roundTrips
	fails := func() (time.Duration, error) { return 0, net.ErrClosed }
	_, err := none.inTime(time.Second, fails)
	assert.That(t, err == net.ErrClosed, "a channel that closed: %v", err)
}

// A channel may end with deliveries on their way: those that were not claimed do not outlive the look.
func TestReleaseForgetsWhatWasNotClaimed(t *testing.T) {
	near, far := net.Pipe()
	conn := wire.New(near)
	defer far.Close()
	defer conn.Cut()
	header := "\x02\x00\x01\x00\x00\x00\x0e\x00\x3c" + strings.Repeat("\x00", 12) + "\xce" // without a body
	go func() { _, _ = far.Write([]byte(header)) }()
	must.Get(conn.Read(make([]byte, 100)))(t)
	must.Equal(t, conn.Unclaimed(), 1, "contents wait")
	new(links).release(&Link{Wire: conn})
	assert.Equal(t, conn.Unclaimed(), 0, "contents wait after the release")
}

// The words of the three versions, and the resulting reasons. TestReasonsOfTheBroker provokes them on a broker.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		on   Attempt
		code int
		said string
		want Reason
	}{
		// 3.10.8, 4.0.5, 4.3.6
		{OnQueue, 404, "NOT_FOUND - no queue 'nodes down' in vhost '/'", noQueue},
		{OnQueue, 405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be " +
			"originally declared on another connection or the exclusive property value does not match that of the " +
			"original declaration.", othersQueue},
		{OnQueue, 403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use", exclusiveConsume},
		// 3.10.8
		{
			OnQueue, 404, "NOT_FOUND - home node 'rabbit@b' of durable queue 'q' in vhost '/' is down or inaccessible",
			queueDown,
		},
		{OnQueue, 541, "INTERNAL_ERROR - ... {nodedown,'rabbit@b'}", queueDown},
		{OnQueue, 403, "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u'", noReadRight},
		{
			OnPublish, 403, "ACCESS_REFUSED - access to topic 'k' in exchange 'x' in vhost '/' refused for user 'u'",

			NoTopicRight,
		},
		{
			OnPublish, 403, "ACCESS_REFUSED - write access to topic 'k' in exchange 'x' in vhost '/' refused for user 'u'",
			NoTopicRight,
		},
		{OnPublish, 403, "ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'u'", NoWriteRight},
		// 4.0.5, 4.3.6
		{OnQueue, 404, "NOT_FOUND - queue 'q' in vhost '/' process is stopped by supervisor", queueDown},
		{OnQueue, 403, "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'u'", noReadRight},
		{OnPublish, 403, "ACCESS_REFUSED - write access to exchange 'x' in vhost '/' refused for user 'u'", NoWriteRight},
		// An internal exchange, all three
		{OnPublish, 403, "ACCESS_REFUSED - cannot publish to internal exchange 'x' in vhost '/'", UnknownReason},
		{OnLogin, 403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.", badLogin},
		{OnLogin, 530, "NOT_ALLOWED - vhost v not found", noVHost},
		{OnLogin, 530, "NOT_ALLOWED - access to vhost 'not found' refused for user 'u'", noVHostRight},
		{OnUnbind, 403, "ACCESS_REFUSED - operation not permitted on the default exchange", WriteRight},

		// The meaning of the same words depends on the attempt.
		{OnLogin, 404, "NOT_FOUND - no queue 'q' in vhost '/'", UnknownReason},
		{OnQueue, 320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'", connectionEnded},
		{OnQueue, 406, "PRECONDITION_FAILED - whatever", UnknownReason},
	} {
		err := &amqp.Error{Code: test.code, Reason: test.said, Server: true}
		assert.Equal(t, ReasonOf(test.on, fmt.Errorf("get: %w", err)), test.want, "%s\nis", test.said)

		err.Server = false
		assert.That(t, ReasonOf(test.on, err) == UnknownReason, "that is no answer of the broker: %s", test.said)
	}
}
