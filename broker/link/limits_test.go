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
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// Some names look like limits.
func TestLimitReached(t *testing.T) {
	for _, test := range must.Cases[struct{ Said, Cause, Next string }](t, "testdata/limits.toml") {
		err := &amqp.Error{Code: amqp.NotAllowed, Reason: "NOT_ALLOWED - " + test.Said, Server: true}
		reached := limitReached(fmt.Errorf("dial: %w", err), "o'ps", "a limit", 0)
		if test.Cause == "" {
			assert.That(t, reached == nil, "%s: %v", test.Said, reached)
			continue
		}

		must.That(t, reached != nil, "%s is no limit", test.Said)
		assert.Equal(t, reached.Kind, trouble.AtLimit, test.Said)
		assert.Equal(t, reached.Cause, test.Cause)
		assert.Contains(t, reached.Next, test.Next, test.Said)
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
	for _, test := range must.Cases[struct {
		Name  string
		Took  time.Duration
		Alone []time.Duration
		Want  bool
	}](t, "testdata/in_time.toml") {
		asked, trips := 0, roundTrips{}
		got, err := trips.inTime(test.Took, func() (time.Duration, error) {
			asked++
			return test.Alone[asked-1], nil
		})
		must.That(t, err == nil, "%s: %v", test.Name, err)
		assert.Equal(t, got, test.Want, test.Name)
		assert.Equal(t, asked, len(test.Alone), "%s: round trips", test.Name)
	}

	const ms = time.Millisecond
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
	assert.Equal(t, err, net.ErrClosed, "a channel that closed")
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
	attempts := map[string]Attempt{"queue": OnQueue, "login": OnLogin, "publish": OnPublish, "unbind": OnUnbind}
	for _, test := range must.Cases[struct {
		On, Said string
		Code     int
		Want     Reason
	}](t, "testdata/reasons.toml") {
		on := attempts[test.On]
		err := &amqp.Error{Code: test.Code, Reason: test.Said, Server: true}
		assert.Equal(t, ReasonOf(on, fmt.Errorf("get: %w", err)), test.Want, "%s\nis", test.Said)

		err.Server = false
		assert.That(t, ReasonOf(on, err) == UnknownReason, "that is no answer of the broker: %s", test.Said)
	}
}

// TestLossOfAWrite: a write can be the first to notice that a broker was killed, and then the error is the system's.
func TestLossOfAWrite(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	client := must.Get(net.Dial("tcp", listener.Addr().String()))(t)
	server := must.Get(listener.Accept())(t)
	must.Do(t, server.(*net.TCPConn).SetLinger(0)) // closing resets the connection
	must.Do(t, server.Close())

	var err error
	must.Await(t, "a write fails", func() bool {
		_, err = client.Write([]byte{0})
		return err != nil
	})
	assert.That(t, errors.Is(Loss(err), model.ErrConnectionLost), "of the other side: %v", err)

	must.Do(t, client.Close())
	_, err = client.Write([]byte{0})
	assert.That(t, errors.Is(Loss(err), model.ErrConnectionLost), "of this side: %v", err)
	assert.Equal(t, Loss(context.DeadlineExceeded), error(context.DeadlineExceeded), "a deadline is no loss")
}
