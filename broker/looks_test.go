package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// deliveryLimit is the limit of the queues of these tests, the default from 4.0 on.
const deliveryLimit = 20

// limited declares a quorum queue with a delivery limit, and describes it.
func (a *app) limited(suffix string, limit int, arguments ...any) (*model.Queue, model.Settings) {
	a.Helper()
	if behaviour().DefaultDeliveryLimit != int64(limit) {
		arguments = append(arguments, "x-delivery-limit", int32(limit))
	}
	q := a.queue(suffix, model.Quorum, arguments...)
	delete(q.Arguments, "x-delivery-limit") // only the settings have it: an undo of these tests looks however few are left
	return q, limitOf(int64(limit))
}

func limitOf(n int64) model.Settings {
	return model.Settings{DeliveryLimit: model.Setting[int64]{
		Value: n, Set: true, Source: model.Source{Kind: model.FromDefault},
	}}
}

// limitedWith returns an application, and a queue of it with that limit and n messages.
func limitedWith(t *testing.T, n int) (a *app, q *model.Queue, s model.Settings) {
	t.Helper()
	a = newApp(t)
	q, s = a.limited("q", deliveryLimit)
	a.publish(q, numbered(n)...)
	return a, q, s
}

// deliver lets a worker requeue all messages of a queue a number of times.
func (a *app) deliver(q *model.Queue, n, times int) {
	a.Helper()
	for range times {
		a.await(q, n)
		channel, deliveries := a.consumer(q, n)
		for range n {
			<-deliveries
		}
		must.Do(a, channel.Close())
	}

	a.await(q, n)
}

// looking is one operation that returns what it takes.
type looking struct {
	name string
	do   func(ctx context.Context, c *broker.Client, q *model.Queue, s model.Settings, insist bool) (peek.Rescued, error)
}

func planLook(q *model.Queue, s model.Settings, all, insist bool) peek.Plan {
	return peek.OfQueue(q, s, behaviour(), peek.Want{ForAction: all, Insist: insist})
}

var allLooks = []looking{{"peek", doPeek}, {"export", doExport}, {"drop that matches nothing", doDrop}}

func doPeek(
	ctx context.Context, c *broker.Client, q *model.Queue, s model.Settings, insist bool,
) (peek.Rescued, error) {
	peeked, err := c.Peek(ctx, planLook(q, s, false, insist))
	if err == nil {
		err = peeked.Messages.Close()
	}
	return peeked.Rescued, err
}

func doExport(
	ctx context.Context, c *broker.Client, q *model.Queue, s model.Settings, insist bool,
) (peek.Rescued, error) {
	read, err := c.Read(ctx, planLook(q, s, true, insist), func(*message.Message) error { return nil })
	return read.Rescued, err
}

func doDrop(
	ctx context.Context, c *broker.Client, q *model.Queue, s model.Settings, insist bool,
) (peek.Rescued, error) {
	account, err := c.Execute(ctx, plan.Plan{
		Operation: plan.Drop, From: q.QueueRef, Selection: plan.Selection{MessageID: "no such message"},
		Acquire: planLook(q, s, true, insist),
	}.On(nil), nil)

	if err == nil && account.Stopped != "" {
		err = errors.New(account.Stopped)
	}

	return account.Rescued, err
}

// newProcess returns a client that remembers nothing of others, as on another machine, and one with a journal.
func newProcess(t testing.TB, path string, looks broker.PeekLedger) *broker.Client {
	t.Helper()
	return newClient(t, broker.Options{URL: node.AMQP(), Journal: openJournal(t, path), Looks: looks})
}

// forgetful is a memory of looks that cannot be written, as on a full disk.
type forgetful struct{ broker.PeekLedger }

func (forgetful) Change(context.Context, string, model.QueueRef, func(*model.Looked)) error {
	return errors.New("the disk is full")
}

// When the memory of looks fails, turns with other programs still work. Two simultaneous looks lose what is at its
// limit.
func TestLooksTakeTurnsWithoutMemory(t *testing.T) {
	t.Parallel()
	_, q, s := limitedWith(t, 3)
	turns := newAskedTurns()
	c := newClient(t, broker.Options{
		URL: node.AMQP(), Journal: openJournal(t, journalPath(t)), Turns: turns,
		Looks: forgetful{journal.NewPeekLedger(journalPath(t))},
	})

	must.Get(doPeek(t.Context(), c, q, s, true))(t)
	first := turns.asked()
	must.Get(doPeek(t.Context(), c, q, s, true))(t)
	assert.That(t, first > 0, "no turn was asked for")
	assert.That(t, turns.asked() > first, "%d and %d turns were asked for", first, turns.asked())
}

// unshared are turns in a directory that others cannot write.
type unshared struct{}

func (unshared) Try(string) (func(), model.Holder, error) {
	return nil, model.Holder{}, errors.New("the directory is read-only")
}

func (unshared) Taken(string) (bool, error) { return false, errors.New("the directory is read-only") }

// Where turns cannot be shared looks work, and what is known of looks says so.
func TestLooksWithoutSharedTurns(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	q := a.filled("q", model.Classic, numbered(3)...)
	c := newClient(t, broker.Options{URL: node.AMQP(), Turns: unshared{}})
	must.Get(doPeek(t.Context(), c, q, model.Settings{}, false))(t)
	_, err := c.Looked(t.Context(), "")
	assert.Contains(t, fmt.Sprint(err), "the directory is read-only")
}

// askedTurns records which turns are asked for.
type askedTurns struct {
	broker.Turns
	sync.Mutex
	names []string
}

func newAskedTurns() *askedTurns { return &askedTurns{Turns: journal.NewTurns("dlxtop test")} }

func (l *askedTurns) Try(name string) (func(), model.Holder, error) {
	l.Lock()
	l.names = append(l.names, name)
	l.Unlock()
	return l.Turns.Try(name)
}

func (l *askedTurns) asked() int {
	l.Lock()
	defer l.Unlock()
	return len(l.names)
}

// The first look of a program waits for that of one that has run for a while, by whatever address they connect. Two
// simultaneous looks change the order, and may lose what is at its limit.
func TestFirstLookTakesTurns(t *testing.T) {
	t.Parallel()
	const n = 5
	a, q, s := limitedWith(t, n)
	turns := newAskedTurns()
	running := newClient(t, broker.Options{URL: node.AMQP(), Turns: turns})
	must.Do(t, running.Check(t.Context(), "/"))
	first := newClient(t, broker.Options{URL: strings.Replace(node.AMQP(), "127.0.0.1", "localhost", 1), Turns: turns})
	ended := make(chan error, 1)
	var seen []string // by the first look of the other

	_, err := running.Read(t.Context(), planLook(q, s, true, true), func(m *message.Message) error {
		if m.Position > 1 {
			return nil
		}
		before := turns.asked()
		go func() {
			_, err := first.Read(t.Context(), planLook(q, s, true, true), func(m *message.Message) error {
				seen = append(seen, m.Properties.MessageID)
				assert.That(t, !behaviour().ReturnCountsAsDelivery || m.Counted() == 1,
					"%s came back %d times", m.Properties.MessageID, m.Counted())
				return nil
			})
			ended <- err
		}()

		a.until(func() error {
			if turns.asked() < before+2 {
				return errors.New("the other look does not ask for its turn")
			}
			return nil
		})

		return nil
	})

	e := <-ended
	must.Do(t, e)
	must.Do(t, err)
	assert.Same(t, count(n), seen)

	for _, name := range turns.names {
		assert.Equal(t, name, turns.names[0], "they take turns at")
	}
}

// TestManyProcessesLook lets 24 independent programs look at a queue whose delivery limit each look uses up: none of
// its messages is lost, and those that come too late learn how much is left.
func TestManyProcessesLook(t *testing.T) {
	t.Parallel()
	const n, runs = 25, 24
	for _, look := range allLooks {
		t.Run(look.name, func(t *testing.T) {
			t.Parallel()
			a, q, s := limitedWith(t, n)
			path, refused := journalPath(t), 0
			for run := range runs {
				rescued, err := look.do(t.Context(), newProcess(t, path, nil), q, s, false)
				if err != nil {
					refused++
					assert.That(t, strings.Contains(err.Error(), "left of 20"), "run %d: %v", run+1, err)
				}
				assert.That(t, rescued.Copied <= 1, "run %d: %+v", run+1, rescued)
				assert.Equal(t, rescued.Kept+rescued.Lost, 0, "%v", run+1)
				a.await(q, n)
			}

			want := runs - deliveryLimit + 2
			assert.That(t, behaviour().ReturnCountsAsDelivery == (refused == want),
				"%d were refused, want the last %d", refused, want)
			wantAll(t, a, q, n)
		})
	}
}

// wantAll wants each of n messages in a queue once.
func wantAll(t *testing.T, a *app, q *model.Queue, n int) []amqp.Delivery {
	t.Helper()
	got := a.drain(q, n)
	wantOnce(t, got, n)
	return got
}

// A worker has requeued all messages until they are at their limit. The very first look moves one message, is refused,
// and none is lost; insisting moves all.
func TestFirstLookAtTheLimit(t *testing.T) {
	t.Parallel()
	if !behaviour().ReturnCountsAsDelivery {
		return // nothing is refused: TestManyProcessesLook
	}
	const n = 25
	for _, look := range allLooks {
		t.Run(look.name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			q, s := a.limited("q", deliveryLimit)
			messages := numbered(n)
			messages[0].Expiration = "3600000"
			messages[0].Headers["x-death"] = []any{amqp.Table{"count": int64(3)}}
			messages[0].Headers["CC"] = []any{q.Name + ".nowhere"}
			a.publish(q, messages...)
			a.deliver(q, n, deliveryLimit)
			path := journalPath(t)
			c := newProcess(t, path, nil)
			rescued, err := look.do(t.Context(), c, q, s, false)
			assert.Fails(t, err, "0 looks left of 20")
			assert.Equal(t, rescued.Copied, 1, "the first look: %v %+v", err, rescued)
			assert.That(t, rescued.Kept+rescued.Lost <= 0, "the first look: %v %+v", err, rescued)
			a.await(q, n)

			// The same program now knows, and takes nothing.
			rescued, err = look.do(t.Context(), c, q, s, false)
			assert.That(t, err != nil, "the second look: %v %+v", err, rescued)
			assert.That(t, !rescued.Any(), "the second look: %v %+v", err, rescued)
			rescued, err = look.do(t.Context(), newProcess(t, path, nil), q, s, true)
			must.Do(t, err)
			assert.Equal(t, rescued.Copied, n-1, "insisting: %+v", rescued)
			assert.Equal(t, rescued.Kept+rescued.Lost, 0)
			got := wantAll(t, a, q, n)
			first := got[0]
			assert.Equal(t, first.MessageId, "1", "%+v", first)
			assert.Equal(t, first.Expiration, "3600000")
			assert.That(t, first.Headers["CC"] == nil, "%+v", first)
			assert.That(t, first.Headers["x-death"] != nil, "%+v", first)
			assert.Equal(t, fmt.Sprint(first.Headers["number"]), "1")
			records := recordsOf(t, openJournal(t, path))
			must.That(t, len(records) >= 2, "%v", records)

			ofOne := 0
			for _, r := range records {
				assert.That(t, r.Operation != plan.Rescue || !r.Unfinished() && r.Account.Moved == r.Entries, "%+v", r)
				if r.Operation == plan.Rescue && r.Told() == "1 rescued" {
					ofOne++
				}
			}

			assert.Equal(t, ofOne, 1, "rescues of one message")
		})
	}
}

// endingTurns gives the turn at the moment at which the look is cancelled.
type endingTurns struct {
	callOff context.CancelFunc
	ended   int
}

func (l *endingTurns) Try(string) (end func(), by model.Holder, err error) {
	l.callOff()
	return func() { l.ended++ }, by, nil
}

func (l *endingTurns) Taken(string) (bool, error) { return false, nil }

// A look that is cancelled while it waits for its turn does not keep the queue locked.
func TestALookThatIsCalledOffLetsGo(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	q := a.queue("q", model.Quorum)
	ctx, callOff := context.WithCancel(t.Context())
	turns := &endingTurns{callOff: callOff}
	c := newClient(t, broker.Options{URL: node.AMQP(), Turns: turns})
	_, err := c.Peek(ctx, planPeek(q, peek.Want{Limit: 1}))
	assert.That(t, errors.Is(err, context.Canceled), "%v; it was let go %d times", err, turns.ended)
	assert.Equal(t, turns.ended, 1)
}

// carried makes the delivery limit of a quorum queue dead-letter n messages into another one with the same limit,
// through a buffer of a type ("" for none).
func (a *app) carried(via model.QueueType, limit, n int) (failed *model.Queue, from model.QueueRef, s model.Settings) {
	a.Helper()
	failed, s = a.limited("failed", limit)
	next := failed.QueueRef
	if via != "" {
		next = a.queue("via", via, "x-message-ttl", int32(50), "x-dead-letter-exchange", "",
			"x-dead-letter-routing-key", failed.Name).QueueRef
	}

	work, _ := a.limited("work", limit, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", next.Name)
	a.publish(work, numbered(n)...)
	a.deliver(work, n, limit)
	last := a.open()
	a.consume(last, work, n)
	must.Do(a, last.Close())
	a.await(failed, n)

	return failed, work.QueueRef, s
}

// Messages dead-lettered by another quorum queue's delivery limit keep their count from 4.3 on, through queues of any
// type, and any return loses them if the count is above the limit. A look ends at the first one, which is rescued;
// insisting rescues all, and rescued messages count from 0 again.
func TestCarriedCounts(t *testing.T) {
	t.Parallel()
	const limit, n = 3, 5
	for _, via := range []model.QueueType{"", model.Classic, model.Quorum} {
		t.Run("via "+string(via), func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			c, _ := journaled(t, false)
			failed, work, s := a.carried(via, limit, n)
			want := peek.Want{Carried: model.Carried{From: work, Count: limit + 1}}
			p := peek.OfQueue(failed, s, behaviour(), want)
			if !behaviour().CarriesDeliveryCount {
				assert.That(t, !p.Foreseen(), "%v", p.Cost)
				assert.Lacks(t, p.Cost, work.Name)
				return
			}

			must.That(t, p.Allowed(), "allowed %v, free %v: %s", p.Allowed(), p.Free, p.Cost)
			must.That(t, !p.Free, "allowed %v, free %v: %s", p.Allowed(), p.Free, p.Cost)
			must.Contains(t, p.Cost, "set its delivery-limit to 4 or more")
			_, err := c.Peek(t.Context(), p)
			var refused peek.RefusedLook
			must.That(t, errors.As(err, &refused), "it goes on: %v", err)
			must.That(t, strings.HasPrefix(refused.Refusal().Words(), "messages from "), "it goes on: %v", err)
			must.Contains(t, err.Error(), work.Name+" keep delivery counts of up to 4")
			a.await(failed, n)

			want.Insist = true
			for look, rescued := range []int{n - 1, 0, 0} { // the first one was found before
				peeked := must.Get(c.Peek(t.Context(), peek.OfQueue(failed, s, behaviour(), want)))(t)
				assert.Equal(t, peeked.Messages.Len(), n, "look %d: messages, %+v", look+1, peeked.Rescued)
				assert.Equal(t, peeked.Rescued.Copied, rescued, "%v", look+1)
				assert.Equal(t, peeked.Rescued.Lost, 0, "%v", look+1)
				a.await(failed, n)
			}
		})
	}
}

// Messages that arrived with a count above the limit, by a way that the topology no longer has, are rescued, although
// nothing was refused.
func TestUnforeseenCarriedCounts(t *testing.T) {
	t.Parallel()
	if !behaviour().CarriesDeliveryCount {
		return // a look there is counted, and begins with one message
	}
	const limit, n = 2, 4
	a := newApp(t)
	c, _ := journaled(t, false)
	failed, _, s := a.carried("", limit, n)
	peeked := must.Get(c.Peek(t.Context(), peek.OfQueue(failed, s, behaviour(), peek.Want{})))(t)
	must.Equal(t, peeked.Rescued.Copied, n, "%+v", peeked.Rescued)
	a.await(failed, n)
}

// A message is not redelivered until a look, whatever its publisher wrote, so that the next look knows what has been
// there since.
func TestALookMarksAsRedelivered(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		sent := numbered(2)
		sent[1].Headers = amqp.Table{"x-delivery-count": int64(3), "x-acquired-count": int64(3)}
		q := a.filled("q", kind, sent...)
		for look, want := range []bool{false, true, true} {
			a.await(q, len(sent))
			for _, m := range lookAt(t, c, q, peek.Want{}).Messages {
				assert.Equal(t, m.Redelivered, want, "look %d, message %d: redelivered", look+1, m.Position)
			}
		}
	})
}

// Rescues rely on this: which returns count, that x-delivery-count shows it at the next delivery, and at which count
// returning a message loses it.
func TestWhatAReturnCounts(t *testing.T) {
	t.Parallel()
	a, b := newApp(t), behaviour()
	for _, limit := range []int{-1, 0, 3} {
		for _, how := range []string{"close", "nack", "reject", "cut"} {
			t.Run(fmt.Sprintf("limit %d, %s", limit, how), func(t *testing.T) {
				q := a.queue(fmt.Sprint(limit, how), model.Quorum, "x-delivery-limit", int32(limit))
				// A publisher's value of the header stays until the first return (4.0.5).
				a.publish(q, amqp.Publishing{Headers: amqp.Table{"x-delivery-count": int64(17)}})
				counts := b.ReturnCountsAsDelivery || how != "nack"
				lost := limit + 1 // deliveries, the last of which is lost when returned

				switch {
				case limit < 0 && b.NegativeDeliveryLimitDrops:
					lost = 1
				case limit < 0 || !counts:
					lost = 0
				}

				p := peek.Plan{Counts: counts, Budget: int64(limit)}
				for n := range 6 {
					m, there := a.deliverOnce(q, how)
					must.That(t, there == (lost == 0 || n < lost), "delivery %d: there %v, want %d deliveries", n+1, there, lost)
					if !there {
						return
					}
					got := m.Counted()
					assert.That(t, !counts || got == int64(n), "delivery %d: counted %d, redelivered %v", n+1, got, m.Redelivered)
					assert.Equal(t, m.Redelivered, n > 0, "%v", n+1)
					doomed := p.Doomed(m.Counted())
					assert.That(t, lost <= 0 || doomed == (n+1 == lost),
						"delivery %d: doomed %v, %d deliveries until it is lost", n+1, doomed, lost)
				}
			})
		}
	}
}

// deliverOnce takes the only message of a queue on its own connection, and returns it.
func (a *app) deliverOnce(q *model.Queue, how string) (m message.Message, there bool) {
	a.Helper()
	connection := must.Get(dial.AMQP(node.AMQP()))(a)
	defer connection.Close()
	channel := must.Get(connection.Channel())(a)
	const comeback = 300 * time.Millisecond // for messages returned earlier
	var d amqp.Delivery

	var err error
	for began := time.Now(); !there && time.Since(began) < comeback; {
		d, there, err = channel.Get(q.Name, false)
		must.Do(a, err)
	}

	if !there {
		return m, false
	}
	m = message.Message{Redelivered: d.Redelivered, Headers: model.Table(d.Headers)}
	switch how {
	case "nack":
		err = channel.Nack(d.DeliveryTag, true, true)
	case "reject":
		err = channel.Reject(d.DeliveryTag, true)
	case "close":
		err = channel.Close()
	}

	must.Do(a, err)
	return m, true
}
