package mgmt

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// consume gives each message that a queue has to do, on a channel of its own, until the returned function ends it.
func (s *stage) consume(queue string, prefetch int, do func(amqp.Delivery)) (end func()) {
	s.t.Helper()
	connection := must.Get(dial.AMQP(s.b.AMQP() + s.vhost))(s.t)
	s.t.Cleanup(func() { connection.Close() })
	channel := must.Get(connection.Channel())(s.t)
	must.Do(s.t, channel.Qos(prefetch, 0, false))
	got := must.Get(channel.Consume(queue, "", false, false, false, false, nil))(s.t)
	go func() {
		for d := range got {
			do(d)
		}
	}()
	return func() { connection.Close() }
}

// A worker that gives back what it gets is a loop; one that works, one that was restarted with its hands full, and one
// that holds what it got are not.
func TestFindingRequeueLoop(t *testing.T) {
	s := newStage(t)
	for _, kind := range []string{"classic", "quorum"} {
		for _, queue := range []string{"loop.", "works.", "restarted."} {
			arguments := amqp.Table{"x-queue-type": kind}
			if kind == "quorum" {
				arguments["x-delivery-limit"] = int64(100_000)
			}
			s.queue(queue+kind, arguments)
			for range 40 {
				s.publish(queue+kind, nil)
			}
		}
		s.consume("loop."+kind, 1, func(d amqp.Delivery) {
			time.Sleep(20 * time.Millisecond)
			_ = d.Nack(false, true)
		})
		s.consume("works."+kind, 1, func(d amqp.Delivery) {
			time.Sleep(20 * time.Millisecond)
			_ = d.Ack(false)
		})
		held := make(chan bool, 100)
		hold := func(amqp.Delivery) { held <- true }
		end := s.consume("restarted."+kind, 100, hold)
		for range 40 {
			<-held
		}
		end()
		s.consume("restarted."+kind, 100, hold)
	}
	for _, kind := range []string{"classic", "quorum"} {
		// The count of consumers may be told later than the rates (4.0.5).
		f := s.finds("requeue-loop", "loop."+kind)
		assert.That(t, strings.Contains(f.Evidence, "acknowledged 0.0/s"), "%+v", f)
	}
	s.silent("requeue-loop", "works.classic", "works.quorum", "restarted.classic", "restarted.quorum")
}

// A worker that an application polls is not one that nothing consumes, whether it finds messages or none.
func TestFindingPoller(t *testing.T) {
	s := newStage(t)
	s.queue("polled", nil)
	s.queue("buffer", amqp.Table{
		"x-message-ttl": int64(50), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "polled",
	})
	s.finds("worker-without-consumers", "polled")
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, _, _ = s.channel.Get("polled", true)
			}
		}
	}()
	f := s.finds("poller", "polled")
	s.silent("worker-without-consumers")
	close(stop)
	<-stopped
	assert.That(t, strings.Contains(f.Evidence, "0 consumers, basic.get "), "%+v", f)
	s.finds("worker-without-consumers", "polled")
}
