package ui

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/watch"
)

// sent is how many messages a publisher sends.
const sent = 60

// The movements that are derived equal what applications count, in the topologies of the five scenarios. Where a queue
// has no consumers the numbers are exact; what consumers took is known from statistics, so the test waits for these
// before it compares.
func TestMovementsAreWhatApplicationsCount(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]func(t *testing.T){
		"retry-queue":                    retryQueueMoves,
		"delayed, a TTL of each message": delayedMoves,
		"delayed, a TTL of the queue":    delayedMovesTTLOfTheQueue,
		"delayed-retry":                  delayedRetryMoves,
		"pubsub":                         pubsubMoves,
		"lifecycle":                      lifecycleMoves,
	} {
		t.Run(name, moves)
	}
}

func retryQueueMoves(t *testing.T) {
	t.Parallel()
	s := stageOf(t, scenario(t, "retry-queue"), "RetryQueue")
	got := s.consume("RetryQueue", func(d amqp.Delivery) { // some are lost: rejected without a dead-letter exchange
		if len(d.MessageId) == 1 {
			_ = d.Reject(false)
			return
		}
		_ = d.Ack(false)
	})
	s.follow(totals{"test-delay", 0, 0})
	s.send(sent, "", "test-delay")
	s.settled("all were consumed", func() bool { return got.Load() >= sent }, func() []totals {
		return []totals{{"test-delay", sent, 0}, {"RetryQueue", 0, got.Load()}}
	})
	came, went := s.watch.Total(s.ref("test-delay"))
	left, arrived := s.hops("test-delay", "RetryQueue")
	s.want("came into the buffer", came, sent)
	s.want("went from the buffer", went, sent)
	s.want("left the buffer by the log", left, sent)
	s.wantAlmost("arrived in the worker by the log", arrived, sent)
	s.want("delivered by the log", s.total(watch.MoveDelivery, "RetryQueue"), got.Load())
	s.check(10*time.Second, 10*time.Second)
}

func delayedMoves(t *testing.T) {
	t.Parallel()
	s := stageOf(t, scenario(t, "delayed"), "worker-queue")
	s.follow(totals{"buffer-queue", 0, 0})
	s.send(sent, "out.exchange", "out.routing.key",
		"1000", "2000", "3000", "4000", "5000", "5000", "4000", "3000", "2000", "1000")
	s.settled("all arrived", func() bool { return s.ready("worker-queue") >= sent }, func() []totals {
		return []totals{{"buffer-queue", sent, 0}, {"worker-queue", 0, 0}}
	})
	s.wantAllMoved("buffer-queue", "worker-queue")
	s.check()
}

// wantAllMoved wants that all that was sent went through the buffer into the worker, and is there.
func (s *stage) wantAllMoved(buffer, worker string) {
	s.Helper()
	came, went := s.watch.Total(s.ref(buffer))
	arrived, _ := s.watch.Total(s.ref(worker))
	left, _ := s.hops(buffer, worker)
	s.want("came into the buffer", came, sent)
	s.want("went from the buffer", went, sent)
	s.want("left the buffer by the log", left, sent)
	s.want("came into the worker", arrived, sent)
	s.want("consumed afterwards", s.drain(worker), sent)
}

func delayedMovesTTLOfTheQueue(t *testing.T) {
	t.Parallel()
	s := stageOf(t, scenario(t, "delayed"), "worker-queue-5s")
	s.follow(totals{"buffer-queue-5s", 0, 0})
	s.send(sent, "out.exchange-5s", "out.routing.key-5s")
	s.settled("all arrived", func() bool { return s.ready("worker-queue-5s") >= sent }, func() []totals {
		return []totals{{"buffer-queue-5s", sent, 0}, {"worker-queue-5s", 0, 0}}
	})
	s.wantAllMoved("buffer-queue-5s", "worker-queue-5s")
	s.check(5*time.Second, 5*time.Second)
}

func delayedRetryMoves(t *testing.T) {
	t.Parallel()
	// Empty, as that of pubsub: what is there before is sent on a connection that stays.
	s := stageOf(t, scenario(t, "delayed-retry").Empty(), "retry.worker-queue")
	again := s.publisher()
	const seeded = 3
	for range seeded {
		again("retry.out.exchange", "retry.out.routing.key", amqp.Publishing{Body: []byte("x")})
	}
	got := s.consume("retry.worker-queue", func(d amqp.Delivery) {
		if _, tried := d.Headers["x-tries"]; !tried {
			again("retry.out.exchange", "retry.out.routing.key",
				amqp.Publishing{Body: d.Body, Headers: amqp.Table{"x-tries": int64(1)}})
		}
		_ = d.Ack(false)
	})
	s.follow() // what was seeded comes back while it is followed
	s.send(sent/2, "retry.out.exchange", "retry.out.routing.key")
	s.settled("all were consumed twice", func() bool { return got.Load() >= sent+2*seeded }, func() []totals {
		return []totals{{"retry.buffer-queue", sent + 2*seeded, 0}, {"retry.worker-queue", 0, got.Load()}}
	})
	came, went := s.watch.Total(s.ref("retry.buffer-queue"))
	s.want("went from the buffer, less what came", went-came, seeded)
	if came < sent || came > sent+seeded {
		s.Errorf("came into the buffer: %d, want %d and up to %d that were seeded", came, sent, seeded)
	}
	s.check(10*time.Second, 10*time.Second)
}

func pubsubMoves(t *testing.T) {
	t.Parallel()
	// Empty: of a connection as short as that of the first messages a busy broker's statistics may lose some.
	s := stageOf(t, scenario(t, "pubsub").Empty(), "ucenter@user")
	fail := s.publisher()
	var failed atomic.Int64
	got := s.consume("ucenter@user", func(d amqp.Delivery) {
		if len(d.MessageId) == 1 {
			fail("master.failed", failedQueue, amqp.Publishing{Body: d.Body})
			failed.Add(1)
		}
		_ = d.Ack(false)
	})
	s.follow(totals{"ucenter@user@retry", 0, 0}, totals{failedQueue, 0, 0})
	s.send(sent, "master.retry", "ucenter@user@retry", "3000")
	s.settled("all were consumed", func() bool { return got.Load() >= sent }, func() []totals {
		return []totals{
			{"ucenter@user@retry", sent, 0},
			{failedQueue, failed.Load(), 0},
			{"ucenter@user", 0, got.Load()},
		}
	})
	came, went := s.watch.Total(s.ref("ucenter@user@retry"))
	givenUp, _ := s.watch.Total(s.ref(failedQueue))
	left, arrived := s.hops("ucenter@user@retry", "ucenter@user")
	s.want("came into the retry buffer", came, sent)
	s.want("returned by the log", s.total(watch.MoveReturn, "ucenter@user@retry"), sent-s.late("ucenter@user@retry"))
	s.want("went from the retry buffer", went, sent)
	s.want("left by the log", left, sent)
	s.wantAlmost("arrived in the worker by the log", arrived, sent)
	s.want("given up", givenUp, failed.Load())
	s.want("in the failed queue", int64(s.ready(failedQueue)), givenUp)
	s.want("delivered by the log", s.total(watch.MoveDelivery, "ucenter@user"), got.Load())
	s.check(3*time.Second, 3*time.Second)
}

func lifecycleMoves(t *testing.T) {
	t.Parallel()
	s := stageOf(t, scenario(t, "lifecycle"), "example.delay.heaven")
	s.follow(totals{"example.delay.life", 0, 0})
	publish := s.publisher()
	for i := range 10 {
		publish("amq.fanout", "", amqp.Publishing{Body: []byte("x"), Expiration: fmt.Sprint(1000 * i)})
	}
	all := func() bool { return s.counted("example.delay.heaven") >= 10 }
	s.settled("the last one left, after 9 s", all, func() []totals {
		return []totals{{"example.delay.life", 10, 0}}
	})
	came, went := s.watch.Total(s.ref("example.delay.life"))
	arrived, _ := s.watch.Total(s.ref("example.delay.heaven"))
	s.want("came into the buffer", came, 10)
	s.want("went from the buffer", went, 10)
	s.want("came into the worker", arrived, 10)
	s.check()
}

// late is how many of what came into a queue no count had seen.
func (s *stage) late(queue string) (n int64) {
	for _, m := range s.watch.Log() {
		if m.Late && m.Queue.Name == queue {
			n += m.N
		}
	}
	return n
}

// wantAlmost allows for what left a buffer between two counts: it is known late, and then not matched with its arrival
// any more.
func (s *stage) wantAlmost(what string, got, want int64) {
	s.Helper()
	var late int64
	for _, m := range s.watch.Log() {
		if m.Late {
			late += m.N
		}
	}
	if got > want || got < want-late {
		s.Errorf("%s: %d, want %d but for %d that were seen late", what, got, want, late)
	}
}

func (s *stage) ready(queue string) int {
	channel := must.Get(s.conn.Channel())(s)
	defer channel.Close()
	return depth.Of(s.T, channel, queue)
}

// counted is what the management API says is ready in a queue that may be exclusive to another connection.
func (s *stage) counted(queue string) int64 {
	counts := must.Get(s.source.Counts(s.Context()))(s)
	return counts[s.ref(queue)].Ready.Or(0)
}

// drain consumes all that is in a queue and counts it.
func (s *stage) drain(queue string) int64 {
	want := int64(s.ready(queue))
	got := s.consume(queue, acknowledge)
	deadline := time.Now().Add(patience)
	for got.Load() < want && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	return got.Load()
}
