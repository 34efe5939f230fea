package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
)

// TestTapThatIsCutOff: whoever loses a tap is not told that it missed nothing.
func TestTapThatIsCutOff(t *testing.T) {
	a := newApp(t)
	x, worker := a.exchange("x", "fanout", false, nil), a.queue("worker", model.Classic)
	a.bind(worker, x, "", nil)
	cable, address := newCable(t, 0)
	cable.lead(t, node)
	c := newClient(t, broker.Options{URL: address})
	tap := startTap(a, c, topologyNow(t),
		trace.PlanTap(topologyNow(t), trace.TapWant{VHost: "/", Exchanges: []string{x}}), nil)
	a.send(x, "", numbered(3)...)
	tap.awaitRows(3)
	cable.cut()
	a.send(x, "", numbered(3)...)
	select {
	case err := <-tap.ended:
		assert.That(t, err != nil, "it ended without a word")
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if tap.counts.Seen != 3 || tap.counts.MissedWords() != "some may have been missed" {
		t.Errorf("%+v: %q", tap.counts, tap.counts.MissedWords())
	}
}

// TestTapOfUnconvertible: RabbitMQ ends the connection of a tap that is to get such a message, and the tap says why.
func TestTapOfUnconvertible(t *testing.T) {
	if !behaviour().ConvertsAMQP10 {
		t.Skip("before RabbitMQ 4 they are converted when they are published")
	}
	a := newApp(t)
	x, worker := a.exchange("x", "fanout", false, nil), a.queue("worker", model.Classic)
	a.bind(worker, x, "", nil)
	buffer := a.queue("buffer", model.Classic, "x-message-ttl", int32(1), "x-dead-letter-exchange", x)
	tap := startTap(a, client(t), topologyNow(t),
		trace.PlanTap(topologyNow(t), trace.TapWant{VHost: "/", Exchanges: []string{x}}), nil)
	sendAMQP10(t, node, buffer.Name, unconvertible())
	select {
	case err := <-tap.ended:
		assert.That(t, err != nil && strings.Contains(err.Error(), "it cannot convert a message that passed"), "%v", err)
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	a.await(worker, 1)
}

// TestTapThatIsStoppedBehind: what had passed when a tap was stopped is seen, or counts as missed.
func TestTapThatIsStoppedBehind(t *testing.T) {
	a := newApp(t)
	x, worker := a.exchange("x", "fanout", false, nil), a.queue("worker", model.Classic)
	a.bind(worker, x, "", nil)
	topology := topologyNow(t)
	const n = 1000
	slow := func() { time.Sleep(2 * time.Millisecond) } // a terminal over a slow line
	tap := startTap(a, client(t), topology, trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: []string{x}}),
		slow)
	a.send(x, "", numbered(n)...)
	a.await(worker, n)
	counts := tap.end()
	if int(counts.Seen) != len(tap.seen()) || counts.Seen+counts.Missed != n {
		t.Errorf("%d shown, %+v", len(tap.seen()), counts)
	}
}
