package broker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dlxtop/broker"
	"dlxtop/demo"
	"dlxtop/model"
)

// wantNothingLost drains both queues and checks that each of n messages is in one of them, and that the account is not contradicted:
// no more than its unknown ones are in both.
func wantNothingLost(t *testing.T, a *app, from, to model.QueueRef, n int, account model.Account) {
	t.Helper()
	before := -1
	a.until(func() error { // what the broken connections held is back, and what they had sent is in
		there := a.ready(from) + a.ready(to)
		if there < n {
			return errors.New("messages are missing")
		}
		if there != before {
			before = there
			time.Sleep(300 * time.Millisecond)
			return errors.New("messages still come")
		}
		return nil
	})
	moved, kept := ids(a.drain(to, a.ready(to))), ids(a.drain(from, a.ready(from)))
	seen := map[string]int{}
	for _, id := range append(slices.Clone(moved), kept...) {
		seen[id]++
	}
	twice := 0
	for _, times := range seen {
		if times > 1 {
			twice++
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d messages are left", len(seen), n)
	}
	if twice > account.Unknown {
		t.Errorf("%d messages are in both queues, the account knows of %d: %+v", twice, account.Unknown, account)
	}
	if len(moved) < account.Moved || len(moved) > account.Moved+account.Unknown {
		t.Errorf("%d messages arrived: %+v", len(moved), account)
	}
	if len(kept) > n-account.Moved || len(kept) < n-account.Moved-account.Unknown {
		t.Errorf("%d messages are kept: %+v", len(kept), account)
	}
}

func TestBrokerHaltedWhileReplaying(t *testing.T) {
	t.Parallel()
	n, err := demo.Start(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Stop()
	a, c := newAppOn(t, n), clientOf(t, n)
	const total = 20000
	type replay struct {
		from, to *model.Queue
		moving   chan struct{} // closed when the first messages are moved
		account  model.Account
		err      error
	}
	var replays []*replay
	for _, kind := range kinds {
		r := &replay{described(a.queue("failed."+string(kind), kind), kind), described(a.queue("worker."+string(kind), kind), kind), make(chan struct{}), model.Account{}, nil}
		a.publish(r.from.QueueRef, numbered(total)...)
		replays = append(replays, r)
	}
	var running sync.WaitGroup
	for _, r := range replays {
		plan := replayTo(t, r.from, r.to, model.Selection{})
		plan.Planned = total
		plan.Rate = 10_000 // so that neither is done before the other has begun
		var once sync.Once
		running.Go(func() {
			r.account, r.err = c.Execute(t.Context(), plan, func(account model.Account) {
				if account.Moved > 0 {
					once.Do(func() { close(r.moving) })
				}
			})
		})
	}
	for _, r := range replays {
		<-r.moving
	}
	if err := n.Halt(); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if err := n.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = newAppOn(t, n)
	for _, r := range replays {
		if r.err != nil {
			t.Error(r.err)
		}
		if r.account.Moved < total && r.account.Stopped == "" {
			t.Errorf("it does not say that it was stopped: %+v", r.account)
		}
		t.Logf("moved %d, unknown %d: %s", r.account.Moved, r.account.Unknown, r.account.Stopped)
		wantNothingLost(t, a, r.from.QueueRef, r.to.QueueRef, total, r.account)
		// The client comes back by itself.
		a.publish(r.from.QueueRef, numbered(3)...)
		if got := peek(t, c, planPeek(r.from, model.PeekWant{})); len(got.Messages) != 3 {
			t.Errorf("%d messages after the restart", len(got.Messages))
		}
	}
}

// awaitGoroutines waits until no more goroutines run than before.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// cable is a TCP proxy to the node that can be cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	bytes    atomic.Int64  // that went to the node
	limit    int64         // cuts itself when so many have; 0 is never
	stall    chan struct{} // when not nil: it is not cut, but a connection that sent so much carries no more until this is closed
}

func newCable(t *testing.T, limit int64) (*cable, string) {
	t.Helper()
	u, err := url.Parse(node.AMQP())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, host := &cable{listener: listener, limit: limit}, u.Host
	t.Cleanup(func() { listener.Close(); c.cut() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", host)
			if err != nil {
				near.Close()
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
			go func() { _, _ = io.Copy(far, &counted{Conn: near, cable: c}); far.Close() }()
		}
	}()
	u.Host = listener.Addr().String()
	return c, u.String()
}

// counted counts what it reads, and cuts the cable at its limit, or stalls when it has read so much itself.
type counted struct {
	net.Conn
	cable *cable
	bytes int64
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.bytes += int64(n)
	total := r.cable.bytes.Add(int64(n))
	switch c := r.cable; {
	case c.limit == 0:
	case c.stall == nil && total > c.limit:
		c.cut()
	case c.stall != nil && r.bytes > c.limit:
		<-c.stall
	}
	return n, err
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func TestCableCutWhileReplaying(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, limit := range []int64{3_000, 20_000, 100_000, 300_000, 330_000} {
			a := newApp(t)
			from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
			const n = 3000
			a.publish(from.QueueRef, numbered(n)...)
			before := runtime.NumGoroutine()
			_, address := newCable(t, limit)
			c, err := broker.New(broker.Options{URL: address})
			if err != nil {
				t.Fatal(err)
			}
			account, err := c.Execute(t.Context(), replayTo(t, from, to, model.Selection{}), nil)
			if err != nil {
				t.Errorf("limit %d: %v", limit, err)
			}
			t.Logf("limit %d: moved %d, unknown %d: %s", limit, account.Moved, account.Unknown, account.Stopped)
			if account.Moved < n && account.Stopped == "" {
				t.Errorf("it does not say that it was stopped: %+v", account)
			}
			wantNothingLost(t, a, from.QueueRef, to.QueueRef, n, account)
			c.Close()
			awaitGoroutines(t, before+1) // the cable's own
		}
	})
}

// A broker that stops reading from the publishing connection, as it does in an alarm, must not hang a replay for ever.
func TestStalledReplayEnds(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, cancelled := range []bool{false, true} {
			a := newApp(t)
			from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
			const n = 3000
			messages := numbered(n)
			for i := range messages {
				messages[i].Body = append(messages[i].Body, make([]byte, 20_000)...) // beyond what the sockets hold
			}
			a.publish(from.QueueRef, messages...)
			cable, address := newCable(t, 10_000_000)
			cable.stall = make(chan struct{})
			c, err := broker.New(broker.Options{URL: address})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if cancelled {
				c.SetPatience(time.Minute, time.Minute, 300*time.Millisecond)
				time.AfterFunc(time.Second, cancel)
			} else {
				c.SetPatience(300*time.Millisecond, time.Minute, time.Minute)
			}
			account, err := c.Execute(ctx, replayTo(t, from, to, model.Selection{}), nil)
			cancel()
			if err != nil {
				t.Error(err)
			}
			t.Logf("moved %d, unknown %d: %s", account.Moved, account.Unknown, account.Stopped)
			if account.Stopped == "" {
				t.Errorf("it does not say that it was stopped: %+v", account)
			}
			close(cable.stall)
			wantNothingLost(t, a, from.QueueRef, to.QueueRef, n, account)
			a.deleteQueue(from.Name)
			a.deleteQueue(to.Name)
			c.Close()
		}
	})
}

func TestCableCutWhilePeeking(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		q := described(a.queue("q", kind), kind)
		const n = 20000
		a.publish(q.QueueRef, numbered(n)...)
		cable, address := newCable(t, 0)
		c, err := broker.New(broker.Options{URL: address})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for a.ready(q.QueueRef) == n && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cable.cut()
		}()
		peeked, err := c.Peek(t.Context(), planPeek(q, model.PeekWant{Limit: n}))
		if err == nil && len(peeked.Messages) != n {
			t.Error("a cut peek is no error")
		}
		t.Log(err)
		a.await(q.QueueRef, n)
		if got := peek(t, c, planPeek(q, model.PeekWant{Limit: 10})); len(got.Messages) != 10 {
			t.Errorf("%d messages after the cut", len(got.Messages))
		}
	})
}

func TestQueueDeletedWhileReplaying(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		const n = 20000
		a.publish(from.QueueRef, numbered(n)...)
		plan := replayTo(t, from, to, model.Selection{})
		plan.Planned = n
		var once sync.Once
		account, err := c.Execute(t.Context(), plan, func(account model.Account) {
			if account.Moved > 0 {
				once.Do(func() { a.deleteQueue(from.Name) })
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", account)
		if account.Moved < n && account.Stopped == "" {
			t.Errorf("it does not say that it was stopped: %+v", account)
		}
		if moved := a.ready(to.QueueRef); moved < account.Moved || moved > account.Moved+account.Unknown {
			t.Errorf("%d arrived: %+v", moved, account)
		}
	})
}

func TestTargetExchangeDeletedWhileReplaying(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		exchange := strings.ReplaceAll(t.Name(), "/", ".")
		if err := a.channel.ExchangeDeclare(exchange, "direct", false, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		if err := a.channel.QueueBind(to.Name, "k", exchange, false, nil); err != nil {
			t.Fatal(err)
		}
		const n = 20000
		a.publish(from.QueueRef, numbered(n)...)
		plan := planned(t, topology([]*model.Queue{from, to}, exchange), model.ActionWant{
			Operation: model.Replay, From: from.QueueRef, Planned: n, Mode: model.ToExchange, Fixed: model.Address{Exchange: exchange, RoutingKey: "k"}, User: "guest", Insist: true,
		})
		var once sync.Once
		account, err := c.Execute(t.Context(), plan, func(account model.Account) {
			if account.Moved > 0 {
				once.Do(func() {
					if err := a.open().ExchangeDelete(exchange, false, false); err != nil {
						t.Error(err)
					}
				})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("moved %d, refused %d, unknown %d: %s", account.Moved, account.Refused, account.Unknown, account.Stopped)
		if account.Moved < n && !strings.Contains(account.Stopped, exchange) {
			t.Errorf("it does not say why it was stopped: %+v", account)
		}
		if account.Refused > 0 && account.Unknown > 0 {
			t.Error("it cannot know which one was refused")
		}
		wantNothingLost(t, a, from.QueueRef, to.QueueRef, n, account)
	})
}

func TestTwoReplaysAtOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		const n = 5000
		a.publish(from.QueueRef, numbered(n)...)
		plan := replayTo(t, from, to, model.Selection{})
		var moved atomic.Int64
		var both sync.WaitGroup
		for range 2 {
			c := client(t)
			both.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				account, err := c.Execute(ctx, plan, nil)
				if err != nil || account.Stopped != "" {
					t.Errorf("%v %+v", err, account)
				}
				moved.Add(int64(account.Moved))
			})
		}
		both.Wait()
		if moved.Load() != n {
			t.Errorf("%d moved", moved.Load())
		}
		got := ids(a.drain(to.QueueRef, n))
		slices.SortFunc(got, byNumber)
		if !slices.Equal(got, count(n)) {
			t.Error("not every message once")
		}
	})
}
