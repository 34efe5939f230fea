package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/flows"
)

// stage is a scenario in a vhost of its own, with nothing that moves but what a test sends, and a watch over one of its
// flows that is fed as the screen feeds it: counts four times a second, and polls.
type stage struct {
	*testing.T
	url    string
	conn   *amqp.Connection
	watch  *watch.Watch // belongs to the follower until it has stopped
	stop   func()
	worker model.QueueRef
	source *mgmt.Client
	asked  chan statistics // unbuffered: the follower answers when it has polled
}

// totals are what the broker's statistics count of a queue when they know all that a test did.
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
	node, err := theNode()
	must.Do(t, err)
	vhost := strings.ReplaceAll(t.Name(), "/", ".")
	manageVHost(t, node, http.MethodPut, vhost)
	t.Cleanup(func() { manageVHost(t, node, http.MethodDelete, vhost) })
	u, err := url.Parse(node.AMQP())
	must.Do(t, err)
	u.Path = "/" + vhost
	s := &stage{
		T: t, url: u.String(), worker: model.QueueRef{VHost: vhost, Name: worker}, asked: make(chan statistics),
	}
	must.Do(t, played.Declare(t.Context(), s.url))
	if s.conn, err = amqp.Dial(s.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	return s
}

func scenario(t *testing.T, name string) demo.Scenario {
	t.Helper()
	s := must.Get(demo.ScenarioNamed(name))(t)
	return s
}

// manageVHost makes or deletes a vhost.
func manageVHost(t *testing.T, node *demo.Node, method, name string) {
	t.Helper()
	must.Get(manage.Send(context.WithoutCancel(t.Context()), method, node.API()+"/api/vhosts/"+name, ""))(t)
}

// follow counts and polls until stop is called. It returns when the publishers' totals can be compared with what is
// counted: when the statistics know of what was there before.
func (s *stage) follow(before ...totals) {
	s.Helper()
	node, _ := theNode()
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), VHost: s.worker.VHost}))(s)
	s.source = source
	client := must.Get(broker.New(broker.Options{URL: s.url}))(s)
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
					s.watch, first = watch.New(topology, flow), topology.Snapshot.TakenAt
				}
				s.watch.Poll(topology, flow, client.Held(topology.Snapshot.TakenAt.Add(-model.LateStatistics)))
				// What statistics tell before may be of what was before the watch: it does not count it.
				if topology.Snapshot.TakenAt.Sub(first) > model.LateStatistics && awaited.are(topology, s.worker.VHost) {
					times++
				}
				if awaited.known != nil && times == 2 {
					close(awaited.known)
					awaited.known = nil
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
	s.await(before)
}

// await waits until the watch has had the statistics of all that was done, and a count after them.
func (s *stage) await(want []totals) {
	s.Helper()
	awaited := statistics{want: want, known: make(chan struct{})}
	s.asked <- awaited
	select {
	case <-awaited.known:
	case <-time.After(patience + 20*time.Second):
		s.Fatalf("the broker's statistics never said %+v", want)
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
		}
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

// consume is an application: it counts what it gets.
func (s *stage) consume(queue string, handle func(d amqp.Delivery)) *atomic.Int64 {
	channel := must.Get(s.conn.Channel())(s)
	deliveries := must.Get(channel.Consume(queue, "", false, false, false, false, nil))(s)
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
func (s *stage) settled(what string, reached func() bool, then func() []totals) {
	s.Helper()
	deadline := time.Now().Add(patience + 20*time.Second)
	for !reached() {
		if time.Now().After(deadline) {
			s.Errorf("not within a minute: %s", what)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.await(then())
	s.stop()
}

// hops sums up what the log says of a buffer: what left it, and what of it arrived in a queue behind.
func (s *stage) hops(from, to string) (left, arrived int64) {
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
	return left, arrived
}

func (s *stage) total(kind watch.MoveKind, queue string) (n int64) {
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
		if m.Missing() > 0 || m.Kind == watch.MoveLook || m.Redeclared {
			s.Errorf("a false alarm: %s", m)
		}
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
