package ui

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/flows"
)

// stage is a scenario in its own vhost, in which only a test's messages move, and a watch on one of its flows that is
// fed like the screen's: counts four times a second, and polls.
type stage struct {
	*testing.T
	url     string
	channel *amqp.Channel
	watch   *watch.Watch // belongs to the follower until it has stopped
	stop    func()
	worker  model.QueueRef
	source  *mgmt.Client
	client  *broker.Client
	asked   chan statistics // unbuffered: the follower answers when it has polled
}

// totals are the broker's statistics of a queue once they include everything that a test did.
type totals struct {
	queue                string
	published, delivered int64
}

// statistics are awaited: known is closed when the watch has had them twice.
type statistics struct {
	want  []totals
	known chan struct{}
}

// are reports whether a poll has them.
func (w statistics) are(t *model.Topology, vhost string) bool {
	for _, want := range w.want {
		q, ok := t.Queue(model.QueueRef{VHost: vhost, Name: want.queue})
		if !ok || !q.Consumers.Known() || q.Published.Or(0) != want.published || q.Delivered.Or(0) != want.delivered {
			return false
		}
	}

	return true
}

func stageOf(t *testing.T, played demo.Scenario, worker string) *stage {
	t.Helper()
	_, vhost, url := ownVHost(t)
	must.Do(t, played.Declare(t.Context(), url))
	return &stage{
		T: t, url: url, worker: model.QueueRef{VHost: vhost, Name: worker}, asked: make(chan statistics),
		channel: dial.Channel(t, url),
	}
}

func scenario(t *testing.T, name string) demo.Scenario { return must.Get(demo.ScenarioNamed(name))(t) }

// follow counts and polls until stop is called. It returns when the publishers' totals can be compared with counts:
// when the statistics include everything from before.
func (s *stage) follow(before ...totals) {
	s.Helper()
	s.source = must.Get(mgmt.New(mgmt.Options{
		URL:     testNode.Get(s).API(),
		VHost:   s.worker.VHost,
		Timeout: must.Patience,
	}))(s)
	s.client = must.Get(broker.New(broker.Options{URL: s.url}))(s)
	ctx, cancel := context.WithCancel(s.Context())
	polls := make(chan *model.Topology) // unbuffered: a poll waits for its turn
	var running sync.WaitGroup
	running.Go(func() {
		var t *model.Topology
		for ctx.Err() == nil {
			if snapshot, err := s.source.Snapshot(ctx); err == nil {
				t = t.Next(snapshot)
				select {
				case polls <- t:
				case <-ctx.Done():
				}
			}

			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})

	running.Go(func() {
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		var topology *model.Topology
		var awaited statistics
		var first time.Time

		times := 0
		for {
			select {
			case <-ctx.Done():
				return
			case awaited = <-s.asked:
				times = 0
			case topology = <-polls:
				flow, ok := topology.FlowOf(s.worker)
				if !ok {
					continue
				}
				if s.watch == nil {
					s.watch = watch.New(topology, flow)
					first = topology.Snapshot.TakenAt
				}

				s.watch.Poll(topology, flow, s.client.Held(topology.Snapshot.TakenAt.Add(-model.LateStatistics)))

				// Earlier statistics may be from before the watch, which does not count that.
				if topology.Snapshot.TakenAt.Sub(first) > model.LateStatistics && awaited.are(topology, s.worker.VHost) {
					times++
				}

				if awaited.known != nil && times == 2 {
					close(awaited.known)
					awaited.known = nil
				}
			case <-ticker.C:
				if s.watch != nil {
					s.count(ctx, topology)
				}
			}
		}
	})

	s.stop = sync.OnceFunc(func() { cancel(); running.Wait(); s.client.Close(); s.source.Close() })
	s.Cleanup(s.stop)
	s.await(before)
}

// await waits until the watch has had the statistics of everything done, and a count after them.
func (s *stage) await(want []totals) {
	s.Helper()
	awaited := statistics{want: want, known: make(chan struct{})}
	s.asked <- awaited
	select {
	case <-awaited.known:
	case <-time.After(must.Patience + 20*time.Second):
		s.Fatalf("the broker's statistics never said %+v", want)
	}
}

func (s *stage) count(ctx context.Context, t *model.Topology) {
	var declare, totals []model.QueueRef
	for _, ref := range s.watch.Queues() {
		if byDeclare, byTotals := t.Countable(ref); byDeclare {
			declare = append(declare, ref)
		} else if byTotals {
			totals = append(totals, ref)
		}
	}

	if len(declare) > 0 {
		at := time.Now()
		if counts, err := s.client.Count(ctx, declare); err == nil {
			s.watch.Count(model.Counts{At: at, Took: time.Since(at), Queues: counts})
		}
	}

	if len(totals) > 0 {
		at := time.Now()
		if counts, err := s.source.Counts(ctx); err == nil {
			own := model.CountsByQueue{}
			for _, ref := range totals {
				own[ref] = counts[ref]
			}
			s.watch.Count(model.Counts{At: at, Took: time.Since(at), Queues: own})
		}
	}
}

// publisher publishes messages on its own channel and waits for each confirm.
func (s *stage) publisher() func(exchange, key string, m amqp.Publishing) {
	channel := dial.Channel(s, s.url)
	return func(exchange, key string, m amqp.Publishing) {
		assert.That(s, dial.Send(s, channel, exchange, key, m), "the broker did not take a message")
	}
}

// send sends n messages at random moments, about ten a second.
func (s *stage) send(n int, exchange, key string, expiration ...string) {
	publish, r := s.publisher(), seed.Rand(s)
	for i := range n {
		m := amqp.Publishing{Body: []byte("x"), DeliveryMode: amqp.Persistent, MessageId: fmt.Sprint(i)}
		if len(expiration) > 0 {
			m.Expiration = expiration[i%len(expiration)]
		}
		publish(exchange, key, m)
		time.Sleep(seed.Within(r, 200*time.Millisecond))
	}
}

// consume returns an application: it counts what it gets.
func (s *stage) consume(queue string, handle func(d amqp.Delivery)) *atomic.Int64 {
	var got atomic.Int64
	dial.Work(s, s.url, queue, 0, func(d amqp.Delivery) {
		got.Add(1)
		handle(d)
	})

	return &got
}

// settled waits until a count is reached and the statistics include it, and stops the watch.
func (s *stage) settled(what string, reached func() bool, then func() []totals) {
	s.Helper()
	must.Await(s, what, reached)
	s.await(then())
	s.stop()
}

// wantThrough wants messages to have come into a buffer and left it, and returns how many of them arrived in a queue
// behind it by the log.
func (s *stage) wantThrough(from, to string, want int64) (arrived int64) {
	s.Helper()
	came, went := s.watch.Total(s.ref(from))
	s.want("came into the buffer", came, want)
	s.want("went from the buffer", went, want)

	left := int64(0)
	for _, m := range s.watch.Log() {
		if m.Kind != watch.MoveHop || m.Queue.Name != from {
			continue
		}
		left += m.N
		for _, r := range m.To {
			if r.Queue.Name == to {
				arrived += r.N
			}
		}
	}

	s.want("left the buffer by the log", left, want)
	return arrived
}

func (s *stage) total(kind watch.MoveKind, queue string) (n int64) {
	for _, m := range s.watch.Log() {
		if m.Kind == kind && m.Queue.Name == queue {
			n += m.N
		}
	}

	return n
}

// want compares a derived number with one that an application counted.
func (s *stage) want(what string, got, want int64) {
	s.Helper()
	assert.That(s, got == want, "%s: %d, want %d", what, got, want)
}

// check finds what must never be in the log of a healthy flow.
func (s *stage) check(waited ...time.Duration) {
	s.Helper()
	for _, m := range s.watch.Log() {
		assert.That(s, m.Missing() <= 0, "a false alarm: %s", m)
		assert.That(s, m.Kind != watch.MoveLook, "a false alarm: %s", m)
		assert.That(s, !m.Redeclared, "a false alarm: %s", m)
		least, most := m.Waited()
		if m.Kind == watch.MoveHop && least.Known() && len(waited) == 2 &&
			(least.Or(0) < waited[0]-600*time.Millisecond || most.Or(0) > waited[1]+600*time.Millisecond) {
			s.Errorf("the TTL is from %s to %s: %s", waited[0], waited[1], m)
		}
	}

	if s.Failed() {
		for _, m := range s.watch.Log() {
			s.Logf("%s %s", m.At.Format(flows.LogTime), m)
		}
	}
}

func (s *stage) ref(name string) model.QueueRef {
	return model.QueueRef{VHost: s.worker.VHost, Name: name}
}

// sent is how many messages a publisher sends.
const sent = 60

// Derived movements equal what applications count, in the topologies of the five scenarios. For queues without
// consumers the numbers are exact; what consumers took is known from statistics, so the test waits for these before it
// compares.
func TestMovementsAreWhatApplicationsCount(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]func(t *testing.T){
		"retry-queue": retryQueueMoves,
		"delayed, a TTL of each message": delayedMoves("", []string{
			"1000", "2000", "3000", "4000", "5000", "5000", "4000", "3000", "2000", "1000",
		}),
		"delayed, a TTL of the queue": delayedMoves("-5s", nil, 5*time.Second, 5*time.Second),
		"delayed-retry":               delayedRetryMoves,
		"pubsub":                      pubsubMoves,
		"lifecycle":                   lifecycleMoves,
	} {
		t.Run(name, moves)
	}
}

func retryQueueMoves(t *testing.T) {
	s := stageOf(t, scenario(t, "retry-queue"), "RetryQueue")
	got := s.consume("RetryQueue", func(d amqp.Delivery) { // some are lost: rejected without a dead-letter exchange
		if len(d.MessageId) == 1 {
			reject(d)
		} else {
			acknowledge(d)
		}
	})

	s.follow(totals{"test-delay", 0, 0})
	s.send(sent, "", "test-delay")
	s.settled("all were consumed", func() bool { return got.Load() >= sent }, func() []totals {
		return []totals{{"test-delay", sent, 0}, {"RetryQueue", 0, got.Load()}}
	})
	arrived := s.wantThrough("test-delay", "RetryQueue", sent)
	s.wantAlmost("arrived in the worker by the log", arrived, sent)
	s.want("delivered by the log", s.total(watch.MoveDelivery, "RetryQueue"), got.Load())
	s.check(10*time.Second, 10*time.Second)
}

// delayedMoves wants everything sent to have gone through a buffer into its worker, and to be there. The scenario has
// two of them, distinguished by a suffix.
func delayedMoves(suffix string, expirations []string, waited ...time.Duration) func(t *testing.T) {
	buffer := "buffer-queue" + suffix
	worker := "worker-queue" + suffix

	return func(t *testing.T) {
		s := stageOf(t, scenario(t, "delayed"), worker)
		s.follow(totals{buffer, 0, 0})
		s.send(sent, "out.exchange"+suffix, "out.routing.key"+suffix, expirations...)
		s.settled("all arrived", func() bool { return s.ready(worker) >= sent }, func() []totals {
			return []totals{{buffer, sent, 0}, {worker, 0, 0}}
		})
		s.wantThrough(buffer, worker, sent)
		arrived, _ := s.watch.Total(s.ref(worker))
		s.want("came into the worker", arrived, sent)
		s.want("consumed afterwards", s.drain(worker), sent)
		s.check(waited...)
	}
}

func delayedRetryMoves(t *testing.T) {
	// Empty, like that of pubsub: earlier messages are sent on a connection that stays.
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
		acknowledge(d)
	})

	s.follow() // seeded messages come back while it is followed
	s.send(sent/2, "retry.out.exchange", "retry.out.routing.key")
	s.settled("all were consumed twice", func() bool { return got.Load() >= sent+2*seeded }, func() []totals {
		return []totals{{"retry.buffer-queue", sent + 2*seeded, 0}, {"retry.worker-queue", 0, got.Load()}}
	})
	came, went := s.watch.Total(s.ref("retry.buffer-queue"))
	s.want("went from the buffer, less what came", went-came, seeded)
	assert.That(s, came >= sent && came <= sent+seeded,
		"came into the buffer: %d, want %d and up to %d that were seeded", came, sent, seeded)
	s.check(10*time.Second, 10*time.Second)
}

func pubsubMoves(t *testing.T) {
	// Empty: for a connection as short as that of the first messages a busy broker's statistics may lose some.
	s := stageOf(t, scenario(t, "pubsub").Empty(), "ucenter@user")
	fail := s.publisher()
	var failed atomic.Int64
	got := s.consume("ucenter@user", func(d amqp.Delivery) {
		if len(d.MessageId) == 1 {
			fail("master.failed", failedQueue, amqp.Publishing{Body: d.Body})
			failed.Add(1)
		}
		acknowledge(d)
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

	arrived := s.wantThrough("ucenter@user@retry", "ucenter@user", sent)
	givenUp, _ := s.watch.Total(s.ref(failedQueue))
	s.want("returned by the log", s.total(watch.MoveReturn, "ucenter@user@retry"), sent-s.late("ucenter@user@retry"))
	s.wantAlmost("arrived in the worker by the log", arrived, sent)
	s.want("given up", givenUp, failed.Load())
	s.want("in the failed queue", int64(s.ready(failedQueue)), givenUp)
	s.want("delivered by the log", s.total(watch.MoveDelivery, "ucenter@user"), got.Load())
	s.check(3*time.Second, 3*time.Second)
}

func lifecycleMoves(t *testing.T) {
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

// late returns how many arrivals no count had seen, in a queue or in all ("").
func (s *stage) late(queue string) (n int64) {
	for _, m := range s.watch.Log() {
		if m.Late && (queue == "" || m.Queue.Name == queue) {
			n += m.N
		}
	}

	return n
}

// wantAlmost allows for what left a buffer between two counts: it is known late, and no longer matched with its
// arrival.
func (s *stage) wantAlmost(what string, got, want int64) {
	s.Helper()
	late := s.late("")
	assert.That(s, got <= want && got >= want-late, "%s: %d, want %d but for %d that were seen late", what, got, want,
		late)
}

func (s *stage) ready(queue string) int { return depth.Of(s, s.channel, queue) }

// counted returns the management API's count of ready messages in a queue that may be exclusive to another connection.
func (s *stage) counted(queue string) int64 {
	return must.Get(s.source.Counts(s.Context()))(s)[s.ref(queue)].Ready.Or(0)
}

// drain consumes everything in a queue and counts it.
func (s *stage) drain(queue string) int64 {
	want := int64(s.ready(queue))
	got := s.consume(queue, acknowledge)
	must.Await(s, "all are consumed", func() bool { return got.Load() >= want })
	return got.Load()
}
