package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// worker is an application that consumes a queue, and what it got.
type worker struct {
	sync.Mutex
	got []string
}

// work consumes until the test ends. handle acknowledges or rejects.
func (a *app) work(queue *model.Queue, handle func(amqp.Delivery)) *worker {
	a.Helper()
	w := &worker{}
	dial.Work(a, node.AMQP(), queue.Name, 1, func(d amqp.Delivery) {
		w.Lock()
		w.got = append(w.got, d.MessageId)
		w.Unlock()
		handle(d)
	})

	return w
}

// fails is a worker that publishes what it gets to another queue, which the broker learns before the acknowledgement.
func fails(d amqp.Delivery, to *model.Queue, again amqp.Publishing) {
	_ = d.Acknowledger.(*amqp.Channel).PublishWithContext(context.Background(), "", to.Name, false, false, again)
	_ = d.Ack(false)
}

func (w *worker) received() []string {
	w.Lock()
	defer w.Unlock()
	return slices.Clone(w.got)
}

// awaits waits until the worker got these messages.
func (w *worker) awaits(t *testing.T, ids []string) {
	t.Helper()
	(&app{TB: t}).until(func() error {
		if got := w.received(); !slices.Equal(got, ids) {
			return fmt.Errorf("the worker got %d: %v", len(got), got)
		}
		return nil
	})
}

func succeed(d amqp.Delivery) { _ = d.Ack(false) }

// canaryStage returns a source with messages, and a worker's queue whose rejected messages come back into the source.
func canaryStage(a *app, kind model.QueueType, messages ...amqp.Publishing) (from, to *model.Queue) {
	a.Helper()
	from = a.filled("failed", kind, messages...)
	to = a.queue("worker", kind, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", from.Name)
	to.Consumers = build.Some(1)
	return from, to
}

const canaryWait = 700 * time.Millisecond

// canaryPlan plans to replay everything, with a canary.
func canaryPlan(t *testing.T, operation plan.Operation, from, to *model.Queue, n int) plan.Run {
	t.Helper()
	return planned(t, topology([]*model.Queue{from, to}), plan.ActionWant{
		Operation: operation, From: from.QueueRef, Planned: n, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: to.Name},
		User:  "guest", Options: plan.Options{Insist: true, Mark: true}, Journaled: true, Canary: canaryWait,
	})
}

// runCanary also returns the states of the canary in words, in order, from the progress, which others may get, too.
func runCanary(
	ctx context.Context, t *testing.T, c *broker.Client, run plan.Run, others ...plan.Progress,
) (plan.Account, []string) {
	t.Helper()
	var mu sync.Mutex
	var told []string
	account := must.Get(c.Execute(ctx, run, func(a plan.Account) {
		mu.Lock()
		defer mu.Unlock()
		if len(told) == 0 || told[len(told)-1] != a.Canary.Words() {
			told = append(told, a.Canary.Words())
		}
		for _, other := range others {
			other(a)
		}
	}))(t)

	mu.Lock()
	defer mu.Unlock()

	return account, told
}

// One, then ten, then the rest, in one record, each once and in order, while others publish into the source.
func TestCanaryPasses(t *testing.T) {
	sideBySide(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		c, j := journaled(t, false)
		from, to := canaryStage(a, kind, numbered(47)...)
		w := a.work(to, succeed)
		ctx, cancel := context.WithCancel(t.Context())
		var others sync.WaitGroup
		traffic := 0

		others.Go(func() { // other failures, with different contents
			for ctx.Err() == nil {
				traffic++
				a.send("", from.Name, amqp.Publishing{
					MessageId: fmt.Sprint("other-", traffic), Body: fmt.Appendf(nil, "other %d", traffic),
				})
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})

		p := canaryPlan(t, plan.Replay, from, to, 47)
		p.Selection.Limit = 47
		account, told := runCanary(t.Context(), t, c, p)
		cancel()
		others.Wait()
		wantOutcome(t, account, outcome{Planned: 47, Moved: 47})
		assert.Equal(t, account.CameBack, 0, "came back: %s", account.Canary.Words())
		assert.Contains(t, account.Canary.Words(), "11 were taken, and none came back within 700ms")

		words := strings.Join(told, "\n")
		for _, want := range []string{"1 taken, watching for 700ms", "11 taken, watching"} {
			assert.Contains(t, words, want)
		}

		w.awaits(t, count(47))
		a.await(from, traffic)
		records := must.Get(j.Records(t.Context(), 10))(t)
		must.Equal(t, len(records), 1, "%+v", records)
		assert.Equal(t, records[0].Entries, 47)
		assert.Equal(t, records[0].Account.Moved, 47)
	})
}

// Failures come back, whatever the worker does with the headers.
func TestCanaryStops(t *testing.T) {
	workers := map[string]func(d amqp.Delivery, from *model.Queue){
		"rejects": func(d amqp.Delivery, _ *model.Queue) { _ = d.Reject(false) },
		"publishes with the same id": func(d amqp.Delivery, from *model.Queue) {
			fails(d, from, amqp.Publishing{MessageId: d.MessageId, Body: []byte("failed")})
		},
		"publishes the same body": func(d amqp.Delivery, from *model.Queue) {
			fails(d, from, amqp.Publishing{Body: d.Body})
		},
	}

	for name, fail := range workers {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			sideBySide(t, func(t *testing.T, kind model.QueueType) {
				a := newApp(t)
				c, j := journaled(t, false)
				from, to := canaryStage(a, kind, numbered(47)...)
				w := a.work(to, func(d amqp.Delivery) { fail(d, from) })
				began := time.Now()
				p := canaryPlan(t, plan.Replay, from, to, 47)
				p.Canary.Wait = 5 * time.Second // a busy machine takes time to bring it back
				account := must.Get(c.Execute(t.Context(), p, nil))(t)
				wantOutcome(t, account, outcome{Planned: 47, Moved: 1, Stopped: true})

				assert.Equal(t, account.CameBack, 1, "came back: %s", account.Stopped)
				assert.Equal(t, account.Stopped, "1 of 1 came back")
				took := time.Since(began)
				assert.That(t, took <= patience/2, "it took %v", took)
				assert.List(t, w.received(), count(1), "the worker")
				a.await(from, 47)
				got := a.drain(from, 47)
				wantIDs(t, "those that were not touched", got[:46], count(47, 1))
				assert.That(t, string(got[46].Body) == "body of 1" || string(got[46].Body) == "failed",
					"behind them: %s", got[46].Body)
				records := must.Get(j.Records(t.Context(), 10))(t)
				must.Equal(t, len(records), 1, "%+v", records)
				assert.That(t, records[0].Account.Stopped != "", "%+v", records)
			})
		})
	}
}

// A queue that cannot be counted at the end does not prove that nothing came back.
func TestCanaryOfASilentQueue(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	c, _ := journaled(t, false)
	from := a.filled("failed", model.Quorum, numbered(20)...)
	to := a.queue("worker", model.Classic)
	to.Consumers = build.Some(1)
	type ran struct {
		account plan.Account
		told    []string
	}

	over := make(chan ran, 1)
	go func() {
		account, told := runCanary(t.Context(), t, c, canaryPlan(t, plan.Replay, from, to, 20))
		over <- ran{account, told}
	}()

	a.await(to, 1) // the canary waits for a worker
	end := stopped(t, node, from.QueueRef, time.Minute, 1)
	w := a.work(to, succeed)
	r := <-over
	end()
	account := r.account
	told := r.told
	got := len(w.received())
	assert.Equal(t, got, 1, "the worker got, %+v\n%s", account, strings.Join(told, "\n"))
	assert.Equal(t, account.Moved, 1)
	assert.Contains(t, account.Stopped, "does not answer")
	assert.Lacks(t, strings.Join(told, "\n")+account.Canary.Words(), "did not come back")
	a.await(from, 19)
}

// The first message succeeds, and some of the ten fail.
func TestCanaryOfSomeFailures(t *testing.T) {
	sideBySide(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		twin := amqp.Publishing{MessageId: "twin", Body: []byte("body of 1")} // it was there before: it did not come back
		from, to := canaryStage(a, kind, append(numbered(47), twin)...)
		a.work(to, func(d amqp.Delivery) {
			if slices.Contains([]string{"3", "5", "11"}, d.MessageId) {
				_ = d.Reject(false)
				return
			}
			_ = d.Ack(false)
		})

		account := executed(t, c, canaryPlan(t, plan.Replay, from, to, 48),
			outcome{Planned: 48, Moved: 11, Stopped: true})
		assert.That(t, account.CameBack >= 1, "none came back: %s", account.Stopped)
		assert.That(t, account.CameBack <= 3, "%d came back: %s", account.CameBack, account.Stopped)
		assert.That(t, strings.HasSuffix(account.Stopped, "of 11 came back"), "%d came back: %s", account.CameBack,
			account.Stopped)
		a.await(from, 48-11+3)
		wantIDs(t, "those that were not touched", a.drain(from, 48-11+3)[:37],
			append(count(47, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), "twin"))
	})
}

// The target has no consumers. The canary says so, ends when it is stopped, and continues on order.
func TestCanaryWithoutATaker(t *testing.T) {
	a, c := newApp(t), client(t)
	from, to := canaryStage(a, model.Classic, numbered(20)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	account, told := runCanary(ctx, t, c, canaryPlan(t, plan.Move, from, to, 20), func(a plan.Account) {
		if len(a.Canary.Idle) > 0 {
			cancel()
		}
	})

	wantOutcome(t, account, outcome{Planned: 20, Moved: 1, Stopped: true})
	assert.Contains(t, strings.Join(told, "\n"), "1 sent, waiting until it is taken: no consumers on "+to.Name)
	a.await(from, 19)

	p := canaryPlan(t, plan.Move, from, to, 19)
	p.Canary.Patience = 3 * time.Second
	account = executed(t, c, p, outcome{Planned: 19, Moved: 1, Stopped: true})
	assert.Contains(t, account.Stopped, "not taken within 3s: no consumers on")

	goOn := make(chan struct{})
	p = canaryPlan(t, plan.Move, from, to, 18)
	p.GoOn = goOn
	account = must.Get(c.Execute(t.Context(), p, func(plan.Account) { offer(goOn) }))(t)
	wantOutcome(t, account, outcome{Planned: 18, Moved: 18})
	assert.Lacks(t, account.Canary.Words(), "taken", "it says more than it knows")
	wantIDs(t, "moved", a.drain(to, 20), count(20))
}

// offer sends the order to go on, if the execution waits for it.
func offer(goOn chan<- struct{}) {
	select {
	case goOn <- struct{}{}:
	default:
	}
}

// Messages that are not selected keep their order, between the stages too.
func TestCanaryOfAFilter(t *testing.T) {
	sideBySide(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		c, j := journaled(t, false)
		const n = 900
		from, to := canaryStage(a, kind, numbered(n)...)
		w := a.work(to, succeed)
		p := canaryPlan(t, plan.Replay, from, to, n/2)
		condition := must.Get(filter.ParseExpression(`headers["number"] % 2 == 0`))(t)
		p.Selection = plan.Selection{Filter: condition}
		account := executed(t, c, p, outcome{Planned: n / 2, Moved: n / 2})
		even, odd := split(n, func(i int) bool { return i%2 == 0 })
		w.awaits(t, even)
		wantIDs(t, "the others", a.drain(from, n/2), odd)
		seen := map[int]bool{}

		err := j.Entries(t.Context(), account.JournalID, func(e *plan.Entry) error {
			if seen[e.Position] || e.Outcome != plan.Moved {
				return fmt.Errorf("position %d: %s", e.Position, e.Outcome)
			}
			seen[e.Position] = true
			return nil
		})

		must.Do(t, err)
		assert.Equal(t, len(seen), n/2, "entries")
	})
}

// A target that accepts nothing ends it after one message.
func TestCanaryThatDoesNotArrive(t *testing.T) {
	a, c := newApp(t), client(t)
	from, to := canaryStage(a, model.Classic, numbered(20)...)
	made := canaryPlan(t, plan.Replay, from, to, 20)
	a.deleteQueue(to.Name)
	account := executed(t, c, made, outcome{Planned: 20, Returned: 1, Stopped: true})
	assert.Contains(t, account.Stopped, "the canary did not arrive")
	wantIDs(t, "still there", a.drain(from, 20), count(20))
}

// Skipping the wait for the first message skips only that: later messages still need acknowledgements.
func TestCanaryHurriedOnce(t *testing.T) {
	a := newApp(t)
	from, to := canaryStage(a, model.Classic, numbered(20)...)
	var read atomic.Int64
	c := newClient(t, broker.Options{URL: node.AMQP(), Reread: func(context.Context) (*model.Topology, error) {
		now := *to // it requeues each message again and again
		now.Acked, now.Redelivered = build.Some(0), model.Some(1000*read.Add(1))
		return topology([]*model.Queue{from, &now}), nil
	}})

	goOn := make(chan struct{})
	p := canaryPlan(t, plan.Replay, from, to, 20)
	p.GoOn = goOn
	began := false

	account := must.Get(c.Execute(t.Context(), p, func(account plan.Account) {
		switch {
		case account.Canary.Sent > 1 && !began:
			began = true
			a.work(to, succeed)
		case account.Canary.Sent == 1:
			offer(goOn)
		}
	}))(t)

	wantOutcome(t, account, outcome{Planned: 20, Moved: 11, Stopped: true})
	assert.Contains(t, account.Stopped, "the canary has not passed: 11 taken, none acknowledged")
}

// While the broker does not know the leader of a quorum queue, it says that the queue is empty. An action that expects
// messages moves what is there.
func TestActionDoesNotBelieveThatAQueueIsEmpty(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	c, _ := journaled(t, false)
	const n = 20
	from, to := canaryStage(a, model.Quorum, numbered(n)...)
	run := canaryPlan(t, plan.Move, from, to, n)
	run.Canary, run.Acquire.Least = nil, n
	ended := withoutLeaderFor7s(t, from)
	executed(t, c, run, outcome{Planned: n, Moved: n})
	<-ended
	a.await(to, n)
}

// When a quorum queue was emptied between two stages of a canary, the rest counts as gone.
func TestCanaryOfAQueueThatWasEmptied(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	c, _ := journaled(t, false)
	const n = 20
	from, to := canaryStage(a, model.Quorum, numbered(n)...)
	a.work(to, func(d amqp.Delivery) {
		_, err := a.channel.QueuePurge(from.Name, false)
		assert.Succeeds(t, err)
		succeed(d)
	})

	executed(t, c, canaryPlan(t, plan.Replay, from, to, n), outcome{Planned: n, Moved: 1, Gone: n - 1})
}

// Messages that fail again after a retry are recognized when they come back, by the mark, or by the id if the worker
// has dropped the headers; the record says so during the watch and afterwards.
func TestReplayIsFollowed(t *testing.T) {
	sideBySide(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		c, j := journaled(t, false)
		source := a.filled("failed", kind, numbered(12)...)
		to := a.queue("worker", kind)
		retry := a.queue("retry", kind, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", to.Name,
			"x-message-ttl", int64(1000))
		to.Consumers = build.Some(1)

		a.work(to, func(d amqp.Delivery) {
			_, tried := d.Headers["x-death"]
			into := retry
			switch {
			case d.MessageId != "2" && d.MessageId != "3":
				_ = d.Ack(false)
				return
			case tried && d.MessageId == "3":
				d.Headers, into = nil, source
			case tried:
				delete(d.Headers, "x-death")
				into = source
			}

			fails(d, into, amqp.Publishing{MessageId: d.MessageId, Headers: d.Headers, Body: []byte("failed again")})
		})

		topology := topology([]*model.Queue{source, to, retry})

		following, account := followed(t, c, topology, 12, 0)
		must.Equal(t, following.Sent, 12)
		must.Equal(t, following.Watch, 10*time.Second)
		ctx, enough := context.WithTimeout(t.Context(), time.Minute)
		defer enough()

		sequel := must.Get(c.Follow(ctx, following, func(s plan.Sequel) {
			if number, _ := s.CameBack(); s.Taken == 12 && number == 2 {
				enough()
			}
		}))(t)

		number, _ := sequel.CameBack()
		assert.Equal(t, sequel.Taken, 12, "%+v", sequel)
		assert.Equal(t, number, 2)
		assert.That(t, sequel.Left, "%+v", sequel)
		record := must.Get(j.Record(t.Context(), account.JournalID))(t)
		must.That(t, record.Sequel != nil, "%+v", record.Sequel)
		must.That(t, record.Sequel.Left, "%+v", record.Sequel)
		assert.Contains(t, record.Told(), "2 came back")

		following, account = followed(t, c, topology, 2, 0)
		sequel = must.Get(c.Follow(t.Context(), following, nil))(t)
		record = must.Get(j.Record(t.Context(), account.JournalID))(t)
		number, _ = sequel.CameBack()
		assert.That(t, sequel.Over, "%+v %+v", sequel, record.Sequel)
		assert.Equal(t, number, 2)
		assert.That(t, record.Sequel.Over, "%+v %+v", sequel, record.Sequel)
	})
}

// followed replays n messages from a topology's first queue to its second one, and says how they are followed.
func followed(
	t *testing.T, c *broker.Client, topology *model.Topology, n int, rate float64,
) (plan.Following, plan.Account) {
	t.Helper()
	from, to := topology.Snapshot.Queues[0], topology.Snapshot.Queues[1]
	run := planned(t, topology, plan.ActionWant{
		Operation: plan.Replay, From: from.QueueRef, Planned: n, Mode: target.ToQueue, Journaled: true,
		Options: plan.Options{Mark: true, Insist: true, Rate: rate},
		Fixed:   model.Address{RoutingKey: to.Name}, User: "guest",
	})

	account := executed(t, c, run, outcome{Planned: n, Moved: n})
	following, ok := run.Follow(topology, &account)
	must.That(t, ok, "%+v", following)
	return following, account
}

// A worker that is faster than the confirms has all messages back in their queue before the replay ends. Where a look
// costs, the counts say so, and what is read for another reason is recognized.
func TestMessagesThatCameBackDuringTheReplayAreCounted(t *testing.T) {
	ways := map[string]func(t *testing.T, a *app, from, to *model.Queue){
		"by dead letters": func(_ *testing.T, a *app, from, _ *model.Queue) {
			a.work(from, func(d amqp.Delivery) { _ = d.Reject(false) })
		},
		"by a shovel": func(t *testing.T, a *app, from, to *model.Queue) {
			n, at := manage.Of(t, node.API()), node.AMQP()+"%2f"
			n.Done(n.PutRuntimeParameter("shovel", "/", from.Name, map[string]any{
				"src-uri": at, "src-queue": from.Name, "dest-uri": at, "dest-queue": to.Name,
				"dest-queue-args": amqp.Table{"x-queue-type": to.Type},
			}))
			a.Cleanup(func() { n.Done(n.DeleteRuntimeParameter("shovel", "/", from.Name)) })
			must.Await(t, "the shovel consumes", func() bool {
				return must.Get(a.channel.QueueDeclarePassive(from.Name, true, false, false, false, nil))(t).Consumers > 0
			})
		},
	}

	for name, back := range ways {
		t.Run(name, func(t *testing.T) {
			sideBySide(t, func(t *testing.T, kind model.QueueType) { countCameBack(t, kind, back) })
		})
	}
}

func countCameBack(
	t *testing.T, kind model.QueueType, back func(t *testing.T, a *app, from, to *model.Queue),
) {
	t.Helper()
	a := newApp(t)
	c, j := journaled(t, false)
	const n = 30
	source := a.filled("failed", kind, numbered(n)...)
	way := a.queue("way", model.Classic, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", source.Name)
	back(t, a, way, source)
	to := a.queue("worker", kind, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", way.Name)
	a.work(to, func(d amqp.Delivery) { _ = d.Reject(false) })
	topology := topology([]*model.Queue{source, to})
	following, account := followed(t, c, topology, n, 100)
	must.Equal(t, following.Before, 0)

	read := following.Look.Free

	sequel := must.Get(c.Follow(t.Context(), following, func(s plan.Sequel) {
		number, is := s.CameBack()
		if s.Taken < n || number < n {
			return // quorum queues count late
		}
		if read {
			assert.Equal(t, is, plan.Exactly, "%+v", s)
			return
		}

		assert.Equal(t, is, plan.AtMost, "%+v", s)
		peeked := must.Get(c.Peek(t.Context(), peek.For(topology, source.QueueRef, peek.Want{Limit: n, Insist: true})))(t)
		_ = peeked.Messages.Close()
		read = true
	}))(t)

	number, is := sequel.CameBack()
	assert.That(t, read, "%+v", sequel)
	assert.That(t, sequel.Over, "%+v", sequel)
	assert.Equal(t, number, n)
	assert.Equal(t, is, plan.Exactly)
	record := must.Get(j.Record(t.Context(), account.JournalID))(t)
	assert.Contains(t, record.Told(), "30 came back")
}
