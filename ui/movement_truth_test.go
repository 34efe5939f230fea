package ui

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/broker"
	"dlxtop/demo"
	"dlxtop/mgmt"
	"dlxtop/model"
)

// stage is a scenario in a vhost of its own, with nothing that moves but what a test sends, and a watch over one of its flows that is
// fed as the screen feeds it: counts four times a second, and polls.
type stage struct {
	*testing.T
	url    string
	conn   *amqp.Connection
	watch  *model.Watch // belongs to the follower until it has stopped
	stop   func()
	sent   atomic.Int64
	worker model.QueueRef
}

func stageOf(t *testing.T, scenario, worker string) *stage {
	t.Helper()
	node, err := theNode()
	if err != nil {
		t.Fatal(err)
	}
	vhost := strings.ReplaceAll(t.Name(), "/", ".")
	call(t, http.MethodPut, node.API()+"/api/vhosts/"+vhost)
	t.Cleanup(func() { call(t, http.MethodDelete, node.API()+"/api/vhosts/"+vhost) })
	u, err := url.Parse(node.AMQP())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + vhost
	s := &stage{T: t, url: u.String(), worker: model.QueueRef{VHost: vhost, Name: worker}}
	played, err := demo.ScenarioNamed(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if err := played.Declare(t.Context(), s.url); err != nil {
		t.Fatal(err)
	}
	if s.conn, err = amqp.Dial(s.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	return s
}

func call(t *testing.T, method, url string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, req.URL.Path, resp.Status)
	}
}

// follow counts and polls until stop is called. It returns when the publishers' totals can be compared with what is counted.
func (s *stage) follow(buffer string) {
	s.Helper()
	node, _ := theNode()
	source, err := mgmt.New(mgmt.Options{URL: node.API(), VHost: s.worker.VHost})
	if err != nil {
		s.Fatal(err)
	}
	client, err := broker.New(broker.Options{URL: s.url})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	polls := make(chan *model.Topology) // unbuffered: a poll waits for its turn
	var running sync.WaitGroup
	running.Go(func() {
		var t *model.Topology
		for ctx.Err() == nil {
			if snapshot, err := source.Snapshot(ctx); err == nil {
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
	ready := make(chan struct{})
	running.Go(func() {
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		var topology *model.Topology
		began := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case topology = <-polls:
				flow, ok := topology.FlowOf(s.worker)
				if !ok {
					continue
				}
				if s.watch == nil {
					s.watch = model.NewWatch(topology, flow)
				}
				s.watch.Poll(topology, flow, client.Held(topology.Snapshot.TakenAt.Add(-lateStatistics)))
				// The first publisher's total tells nothing of a queue to which nobody has published: one message does.
				if q, ok := topology.Queue(model.QueueRef{VHost: s.worker.VHost, Name: buffer}); ok && q.Consumers.Known() && time.Since(began) > 14*time.Second && ready != nil {
					close(ready)
					ready = nil
				}
			case <-ticker.C:
				if s.watch != nil {
					s.count(ctx, topology, client, source)
				}
			}
		}
	})
	s.stop = sync.OnceFunc(func() { cancel(); running.Wait(); client.Close(); source.Close() })
	s.Cleanup(s.stop)
	waitFor := ready
	select {
	case <-waitFor:
	case <-time.After(patience + 20*time.Second):
		s.Fatal("the broker has no statistics of the queues")
	}
}

func (s *stage) count(ctx context.Context, t *model.Topology, client *broker.Client, source *mgmt.Client) {
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
		if counts, err := client.Count(ctx, declare); err == nil {
			s.watch.Count(model.Counts{At: at, Took: time.Since(at), Queues: counts})
		}
	}
	if len(totals) > 0 {
		at := time.Now()
		if counts, err := source.Counts(ctx); err == nil {
			own := map[model.QueueRef]model.QueueCounts{}
			for _, ref := range totals {
				own[ref] = counts[ref]
			}
			s.watch.Count(model.Counts{At: at, Took: time.Since(at), Queues: own})
		}
	}
}

// publisher sends messages on a channel of its own and waits for each confirm.
func (s *stage) publisher() func(exchange, key string, m amqp.Publishing) {
	channel, err := s.conn.Channel()
	if err == nil {
		err = channel.Confirm(false)
	}
	if err != nil {
		s.Error(err)
	}
	return func(exchange, key string, m amqp.Publishing) {
		confirm, err := channel.PublishWithDeferredConfirm(exchange, key, true, false, m)
		if err == nil {
			_, err = confirm.WaitContext(context.Background())
		}
		if err != nil {
			s.Error(err)
			return
		}
		s.sent.Add(1)
	}
}

// send sends n messages at random moments, about ten a second.
func (s *stage) send(n int, exchange, key string, expiration ...string) {
	publish := s.publisher()
	for i := range n {
		m := amqp.Publishing{Body: []byte("x"), DeliveryMode: amqp.Persistent, MessageId: fmt.Sprint(i)}
		if len(expiration) > 0 {
			m.Expiration = expiration[i%len(expiration)]
		}
		publish(exchange, key, m)
		time.Sleep(rand.N(200 * time.Millisecond))
	}
}

// consume is an application: it counts what it gets.
func (s *stage) consume(queue string, handle func(d amqp.Delivery)) *atomic.Int64 {
	channel, err := s.conn.Channel()
	if err != nil {
		s.Fatal(err)
	}
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		s.Fatal(err)
	}
	var got atomic.Int64
	go func() { // ends with the connection
		for d := range deliveries {
			got.Add(1)
			handle(d)
		}
	}()
	return &got
}

func acknowledge(d amqp.Delivery) { _ = d.Ack(false) }

// settled waits until a count is reached and the statistics know of it, and stops the watch.
func (s *stage) settled(what string, reached func() bool) {
	s.Helper()
	deadline := time.Now().Add(patience + 20*time.Second)
	for !reached() {
		if time.Now().After(deadline) {
			s.Errorf("not within a minute: %s", what)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(13 * time.Second) // the statistics of two queues, each up to 5 s late, and a poll
	s.stop()
}

// hops sums up what the log says of a buffer: what left it, and what of it arrived in a queue behind.
func (s *stage) hops(from, to string) (left, arrived int64) {
	for _, m := range s.watch.Log() {
		if m.Kind != model.MoveHop || m.Queue.Name != from {
			continue
		}
		left += m.N
		for _, r := range m.To {
			if r.Queue.Name == to {
				arrived += r.N
			}
		}
	}
	return left, arrived
}

func (s *stage) total(kind model.MoveKind, queue string) (n int64) {
	for _, m := range s.watch.Log() {
		if m.Kind == kind && m.Queue.Name == queue {
			n += m.N
		}
	}
	return n
}

// want compares a number that was derived with one that an application counted.
func (s *stage) want(what string, got, want int64) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %d, want %d", what, got, want)
	}
}

// check finds what must never be in the log of a healthy flow.
func (s *stage) check(waited ...time.Duration) {
	s.Helper()
	for _, m := range s.watch.Log() {
		if m.Missing() > 0 || m.Kind == model.MoveLook || m.Anew {
			s.Errorf("a false alarm: %s", m)
		}
		least, most := m.Waited()
		if m.Kind == model.MoveHop && least.Known() && len(waited) == 2 && (least.Or(0) < waited[0]-600*time.Millisecond || most.Or(0) > waited[1]+600*time.Millisecond) {
			s.Errorf("the TTL is from %s to %s: %s", waited[0], waited[1], m)
		}
	}
	if s.Failed() {
		for _, m := range s.watch.Log() {
			s.Logf("%s %s", m.At.Format(logTime), m)
		}
	}
}

func (s *stage) ref(name string) model.QueueRef {
	return model.QueueRef{VHost: s.worker.VHost, Name: name}
}

// The movements that are derived equal what applications count, in the topologies of the five scenarios. Where a queue has no consumers the
// numbers are exact; what consumers took is known from statistics, so the test waits for these before it compares.
func TestMovementsAreWhatApplicationsCount(t *testing.T) {
	const n = 60
	nodeStarted = true
	t.Run("retry-queue", func(t *testing.T) {
		t.Parallel()
		s := stageOf(t, "retry-queue", "RetryQueue")
		got := s.consume("RetryQueue", func(d amqp.Delivery) { // some are lost: rejected without a dead-letter exchange
			if len(d.MessageId) == 1 {
				_ = d.Reject(false)
				return
			}
			_ = d.Ack(false)
		})
		s.follow("test-delay")
		s.send(n, "", "test-delay")
		s.settled("all were consumed", func() bool { return got.Load() >= n })
		came, went := s.watch.Total(s.ref("test-delay"))
		left, arrived := s.hops("test-delay", "RetryQueue")
		s.want("came into the buffer", came, n)
		s.want("went from the buffer", went, n)
		s.want("left the buffer by the log", left, n)
		s.wantAlmost("arrived in the worker by the log", arrived, n)
		s.want("delivered by the log", s.total(model.MoveDelivery, "RetryQueue"), got.Load())
		s.check(10*time.Second, 10*time.Second)
	})
	t.Run("delayed, a TTL of each message", func(t *testing.T) {
		t.Parallel()
		s := stageOf(t, "delayed", "worker-queue")
		s.follow("buffer-queue")
		s.send(n, "out.exchange", "out.routing.key", "1000", "2000", "3000", "4000", "5000", "5000", "4000", "3000", "2000", "1000")
		s.settled("all arrived", func() bool { return s.ready("worker-queue") >= n })
		came, went := s.watch.Total(s.ref("buffer-queue"))
		arrived, _ := s.watch.Total(s.ref("worker-queue"))
		left, _ := s.hops("buffer-queue", "worker-queue")
		s.want("came into the buffer", came, n)
		s.want("went from the buffer", went, n)
		s.want("left the buffer by the log", left, n)
		s.want("came into the worker", arrived, n)
		s.want("consumed afterwards", s.drain("worker-queue"), n)
		s.check()
	})
	t.Run("delayed, a TTL of the queue", func(t *testing.T) {
		t.Parallel()
		s := stageOf(t, "delayed", "worker-queue-5s")
		s.follow("buffer-queue-5s")
		s.send(n, "out.exchange-5s", "out.routing.key-5s")
		s.settled("all arrived", func() bool { return s.ready("worker-queue-5s") >= n })
		came, went := s.watch.Total(s.ref("buffer-queue-5s"))
		arrived, _ := s.watch.Total(s.ref("worker-queue-5s"))
		left, _ := s.hops("buffer-queue-5s", "worker-queue-5s")
		s.want("came into the buffer", came, n)
		s.want("went from the buffer", went, n)
		s.want("left the buffer by the log", left, n)
		s.want("came into the worker", arrived, n)
		s.want("consumed afterwards", s.drain("worker-queue-5s"), n)
		s.check(5*time.Second, 5*time.Second)
	})
	t.Run("delayed-retry", func(t *testing.T) {
		t.Parallel()
		s := stageOf(t, "delayed-retry", "retry.worker-queue")
		seeded := int64(s.ready("retry.buffer-queue"))
		again := s.publisher()
		got := s.consume("retry.worker-queue", func(d amqp.Delivery) {
			if _, tried := d.Headers["x-tries"]; !tried {
				again("retry.out.exchange", "retry.out.routing.key", amqp.Publishing{Body: d.Body, Headers: amqp.Table{"x-tries": int64(1)}})
			}
			_ = d.Ack(false)
		})
		s.follow("retry.buffer-queue") // what was seeded comes back while it is followed
		s.send(n/2, "retry.out.exchange", "retry.out.routing.key")
		s.settled("all were consumed twice", func() bool { return got.Load() >= n+2*seeded })
		came, went := s.watch.Total(s.ref("retry.buffer-queue"))
		s.want("went from the buffer, less what came", went-came, seeded)
		if came < n || came > n+seeded {
			s.Errorf("came into the buffer: %d, want %d and up to %d that were seeded", came, n, seeded)
		}
		s.check(10*time.Second, 10*time.Second)
	})
	t.Run("pubsub", func(t *testing.T) {
		t.Parallel()
		s := stageOf(t, "pubsub", "ucenter@user")
		before := int64(s.ready(failedQueue))
		fail := s.publisher()
		var failed atomic.Int64
		got := s.consume("ucenter@user", func(d amqp.Delivery) {
			if len(d.MessageId) == 1 {
				fail("master.failed", failedQueue, amqp.Publishing{Body: d.Body})
				failed.Add(1)
			}
			_ = d.Ack(false)
		})
		s.follow("ucenter@user@retry")
		s.send(n, "master.retry", "ucenter@user@retry", "3000")
		s.settled("all were consumed", func() bool { return got.Load() >= n })
		came, went := s.watch.Total(s.ref("ucenter@user@retry"))
		givenUp, _ := s.watch.Total(s.ref(failedQueue))
		left, arrived := s.hops("ucenter@user@retry", "ucenter@user")
		s.want("came into the retry buffer", came, n)
		s.want("returned by the log", s.total(model.MoveReturn, "ucenter@user@retry"), n-s.late("ucenter@user@retry"))
		s.want("went from the retry buffer", went, n)
		s.want("left by the log", left, n)
		s.wantAlmost("arrived in the worker by the log", arrived, n)
		s.want("given up", givenUp, failed.Load())
		s.want("in the failed queue", int64(s.ready(failedQueue))-before, givenUp)
		s.want("delivered by the log", s.total(model.MoveDelivery, "ucenter@user"), got.Load())
		s.check(3*time.Second, 3*time.Second)
	})
	t.Run("lifecycle", func(t *testing.T) {
		t.Parallel()
		s := stageOf(t, "lifecycle", "example.delay.heaven")
		s.follow("example.delay.life")
		publish := s.publisher()
		for i := range 10 {
			publish("amq.fanout", "", amqp.Publishing{Body: []byte("x"), Expiration: fmt.Sprint(1000 * i)})
		}
		time.Sleep(10 * time.Second) // the last one leaves after 9 s; nobody else may look into exclusive queues
		s.settled("", func() bool { return true })
		came, went := s.watch.Total(s.ref("example.delay.life"))
		arrived, _ := s.watch.Total(s.ref("example.delay.heaven"))
		s.want("came into the buffer", came, 10)
		s.want("went from the buffer", went, 10)
		s.want("came into the worker", arrived, 10)
		s.check()
	})
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

// wantAlmost allows for what left a buffer between two counts: it is known late, and then not matched with its arrival any more.
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
	channel, err := s.conn.Channel()
	if err != nil {
		s.Fatal(err)
	}
	defer channel.Close()
	return readyIn(s.T, channel, queue)
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
