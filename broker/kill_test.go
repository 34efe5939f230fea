package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// sparing is the operation of a victim that replays only one of several copies.
const sparing = "sparing"

// victim executes one plan, and says when it begins.
func victim(o job) error {
	doubles := o.Operation != sparing
	if !doubles {
		o.Operation = plan.Replay
	}

	c, _, err := o.client()
	if err != nil {
		return err
	}
	queues := o.queues()
	topology := topologyOf(o.Version, queues)
	made := plan.New(topology, plan.ActionWant{
		Operation: o.Operation, From: queues[0].QueueRef, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: o.To}, User: "guest",
		Options: plan.Options{Insist: true, Mark: true, Doubles: doubles},
	})

	signal.Ignore(syscall.Signal(25)) // SIGXFSZ: exceeding the file size limit must be an error, like a full disk
	fmt.Println("begins")
	account, err := c.Execute(context.Background(), made.On(topology), nil)
	fmt.Println("ends", account.Stopped, err)

	return nil
}

// TestKilled kills a process at random moments of drops and replays. Every message is in the source, the target or the
// journal; messages in two places are known to be uncertain and reported at the next start; and an undo brings
// everything back.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := size.Rounds(1)
	n := size.Of(1500, 10_000)
	for _, operation := range both {
		sideBySide(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				var total verdict
				sent, ended := killOnce(t, operation, kind, n, 0, &verdict{})
				assert.That(t, ended, "it was not to be killed")
				for round := range rounds {
					// What it sends depends on the broker's pace: if one ends before its moment, the next is killed earlier.
					ended = true
					for moment := 1 + seed.Rand(t).Int64N(sent*4/5); ended && moment > 0; moment /= 2 {
						t.Run(fmt.Sprint(round), func(t *testing.T) {
							_, ended = killOnce(t, operation, kind, n, moment, &total)
						})
					}
					assert.That(t, !ended, "it was never killed")
				}

				t.Logf("killed in a %s, %s: %s", operation, kind, &total)
			})
		})
	}
}

// killOnce kills a process when it has sent this many bytes to the broker (0: never). It returns how many it sent, and
// whether it ended by itself.
func killOnce(
	t *testing.T, operation plan.Operation, kind model.QueueType, n int, moment int64, total *verdict,
) (sent int64, ended bool) {
	a := newApp(t)
	from, to := a.moving(kind, numbered(n)...)
	person, url := person(t)
	cable := &cable{random: seed.Rand(t)}
	o := job{
		Do: "act", Operation: operation, Kind: kind, URL: cable.throughAs(t, url), From: from.Name, To: to.Name,
		Journal: journalPath(t),
	}

	ended = runVictimOn(t, cable, moment, process(t, o))

	// What it held is requeued when the broker has noticed.
	j := openJournal(t, o.Journal)
	c := newClient(t, broker.Options{URL: o.URL, Journal: j}) // at the same address as in the journal
	least := n

	if operation == plan.Drop { // at most those in the journal were acknowledged: the others come back
		eachEntry(t, j, func(*plan.Record, *plan.Entry) { least-- })
	}

	a.until(func() error {
		if inQueues := a.ready(from) + a.ready(to); inQueues < least {
			return fmt.Errorf("%d messages are ready, want %d at least", inQueues, least)
		}
		return allGone(t, node, person)
	})

	source, atTarget := a.look(from), a.look(to)
	records := recordsOf(t, j)
	kept := map[string]bool{}
	moved := map[string]bool{}

	uncertain := 0
	for _, r := range records {
		uncertain += r.Uncertain()
		if ended && r.Unfinished() { // it may be killed between its end and recording that
			t.Errorf("ended %t, but %+v", ended, r)
		}
	}

	eachEntry(t, j, func(_ *plan.Record, e *plan.Entry) {
		kept[e.MessageID] = e.Message != nil && string(e.Message.Body) == "body of "+e.MessageID || e.Sent != nil
		moved[e.MessageID] = e.Outcome == plan.Moved || e.Outcome == plan.Dropped
	})

	v := verdict{rounds: 1, messages: n}
	for _, id := range count(n) {
		inSource := source[id] > 0
		inTarget := atTarget[id] > 0
		switch {
		case inSource && inTarget:
			if v.twice++; moved[id] || !kept[id] {
				t.Errorf("%s is in both queues, and not reported", id)
			}
		case inSource:
			assert.That(t, !moved[id], "%s is in its queue, and the journal says that it is not", id)
		case operation == plan.Drop && !kept[id], operation == plan.Replay && !inTarget:
			v.lost++
		}
	}

	t.Logf("killed after %d bytes: %d in the source, %d in the target, %d in the journal, %d uncertain, %d twice", moment,
		len(source), len(atTarget), len(kept), uncertain, v.twice)
	const window = 1000
	assert.Equal(t, v.lost, 0, "lost, %d twice, %d uncertain", v.twice, uncertain)
	assert.That(t, v.twice <= uncertain, "%d twice, %d uncertain", v.twice, uncertain)
	assert.That(t, uncertain <= window, "%d uncertain", uncertain)
	if v.struck = wantTold(t, j, uncertain); operation == plan.Drop && v.struck > 0 {
		wantAllBack(t, c, j, records[0].ID, from, n)
	}

	v.mostTwice = v.twice
	v.unknown = uncertain
	v.mostUnknown = uncertain
	total.add(v)
	return cable.bytes.Load(), ended
}

// runVictimOn runs a victim, kills it when it has sent this many bytes (0: never), and reports whether it ended by
// itself.
func runVictimOn(t *testing.T, c *cable, moment int64, command *exec.Cmd) (ended bool) {
	t.Helper()
	running := make(chan struct{})
	if moment > 0 {
		c.struck.Store(&strike{at: moment, do: func() { <-running; _ = command.Process.Kill() }})
	}
	_, said := runVictim(t, time.Minute, command, func() { close(running) })
	return strings.HasPrefix(said, "ends")
}

// person returns a user for a process, which identifies its connections, and the URL to connect as it.
func person(t *testing.T) (name, url string) {
	t.Helper()
	name = fmt.Sprintf("person-%d", rand.Uint64())
	return name, user(t, name, manage.EveryRight)
}

// An execution that meets a full disk stops there, and what it had not recorded is in its queue.
func TestFullDisk(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 3000
		a := newApp(t)
		from := a.filled("failed", kind, numbered(n)...)
		path := journalPath(t)
		person, url := person(t)
		command := process(t, job{
			Do: "act", Operation: plan.Drop, Kind: kind, URL: url, From: from.Name, To: from.Name, Journal: path,
		})
		command.Args = []string{"sh", "-c", `ulimit -f 800 && exec "$0"`, command.Path} // blocks of 512 or 1,024 bytes
		command.Path = "/bin/sh"
		_, said := runVictim(t, time.Minute, command)
		assert.Contains(t, said, "cannot be written: the disk")
		a.until(func() error { return allGone(t, node, person) })
		there, kept := a.look(from), 0

		eachEntry(t, openJournal(t, path), func(_ *plan.Record, e *plan.Entry) {
			kept++
			assert.That(t, e.Outcome != plan.Dropped || there[e.MessageID] == 0,
				"%s was dropped, and is in its queue", e.MessageID)
			there[e.MessageID]++
		})

		assert.Equal(t, len(there), n, "are left, %d in the journal", kept)
		assert.That(t, kept != 0, "none is in the journal")
		assert.That(t, kept != n, "all are in the journal")
	})
}

// wantTold wants the next start to report what is uncertain. It returns how many records did not end.
func wantTold(t *testing.T, j *journal.Journal, uncertain int) int {
	t.Helper()
	unfinished := must.Get(j.Unfinished(t.Context()))(t)
	told := ""
	for i := range unfinished {
		told += strings.Join(unfinished[i].Certain(), "\n")
	}

	want := "not certain: " + model.Plural(uncertain, "message")
	assert.That(t, uncertain <= 0 || strings.Contains(told, want), "%q is not in: %s", want, told)
	return len(unfinished)
}

// wantAllBack undoes a drop: afterwards each of n messages is in its queue.
func wantAllBack(t *testing.T, c *broker.Client, j *journal.Journal, id int64, from *model.Queue, n int) {
	t.Helper()
	a := newApp(t)
	if made := planUndo(t, c, j, id, from); !made.Refusal.Refused() {
		account := undo(t, c, j, id, from)
		assert.That(t, account.Complete(), "undo: %+v", account)
	}

	back := a.look(from)
	ready := a.ready(from)
	assert.Equal(t, len(back), n, "%d messages came back, different ones", ready)
	assert.Equal(t, ready, n)
}

// look counts the messages of a queue by id, and leaves them there.
func (a *app) look(queue *model.Queue) map[string]int {
	a.Helper()
	channel := dial.Channel(a, node.AMQP())
	got := a.hold(channel, queue)
	_ = channel.Close()
	a.await(queue, len(got))
	return byID(got)
}

const basicCancel = 30

// The broker closes the channel of a look, or its connection. Then no other program of the user looks at that queue
// unless its user insists; once all of it was read, everything is as before.
func TestLookThatTheBrokerEnds(t *testing.T) {
	t.Parallel()
	for name, venom := range map[string]func(uint16) []byte{
		"channel": wrongAck, "connection": strayAck, "syntax": brokenAck,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lookIsEnded(t, venom, name == "channel")
		})
	}
}

// lookIsEnded: the frame ends a look. shown: its messages are certainly shown; the end of the connection may come too
// early for that.
func lookIsEnded(t *testing.T, venom func(uint16) []byte, shown bool) {
	sideBySide(t, func(t *testing.T, kind model.QueueType) {
		const n = 5
		a := newApp(t)
		q := a.filled("q", kind, numbered(n)...)
		s := limitOf(deliveryLimit)
		path := journalPath(t)
		cable, url := newCable(t, 0)
		cable.venom = venom
		cable.poison.Store(basicCancel)
		first := newClient(t, broker.Options{URL: url, Looks: journal.NewPeekLedger(path)})
		_, err := doPeek(t.Context(), first, q, s, false)
		assert.That(t, err == nil || !shown, "%v", err)
		a.await(q, n)

		for _, look := range allLooks {
			c := newProcess(t, path, journal.NewPeekLedger(path))
			var why *peek.LookEnded
			_, err := look.do(t.Context(), c, q, s, false)
			must.That(t, errors.As(err, &why), "%s: %v %+v", look.name, err, why)
			assert.Equal(t, why.Ended.By, model.EndedByBroker, "%v", look.name)
			assert.That(t, why.Ended.Before != 0, "%s: %v %+v", look.name, err, why)
		}

		channel := a.open()
		for _, d := range a.consume(channel, q, n) {
			count, _ := d.Headers["x-delivery-count"].(int64)
			assert.That(t, count <= 1, "%s came back %d times", d.MessageId, count)
		}

		must.Do(t, errors.Join(channel.Nack(0, true, true), channel.Close()))
		a.await(q, n)
		for i, insist := range []bool{true, true, false} { // on a quorum queue first what came before it
			_, err := doPeek(t.Context(), newProcess(t, path, journal.NewPeekLedger(path)), q, s, insist)
			assert.That(t, err == nil, "look %d: %v", i+1, err)
			a.await(q, n)
		}
	})
}

// RabbitMQ 4 closes each connection that should receive such a message, and counts a failed delivery of everything
// held. However often a queue is looked at then, nothing in it is lost, and messages ahead of it can be read, and taken
// out.
func TestUnconvertibleMessages(t *testing.T) {
	skipUnlessConverted(t)
	const before, looks = 6, 25
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for name, first := range map[string]int{"head": 0, "middle": before} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := newApp(t)
				q := a.filled("q", kind, numbered(first)...)
				s := limitOf(deliveryLimit)
				sendAMQP10(t, node, q.Name, unconvertible(), unconvertible())
				a.await(q, first+2)
				a.publish(q, numbered(before)...)
				n := first + 2 + before

				path := journalPath(t)
				for i := range looks {
					look := allLooks[i%len(allLooks)]
					_, err := look.do(t.Context(), newProcess(t, path, journal.NewPeekLedger(path)), q, s, false)
					var why *peek.LookEnded
					must.That(t, i == 0 || errors.As(err, &why) && why.Ended.By == model.EndedByConversion &&
						int(why.Ended.Before) == first && why.Ended.Times == 1, "%s %d: %v %+v", look.name, i, err, why)
					a.await(q, n)
				}

				if first == 0 {
					return
				}
				c := newProcess(t, path, journal.NewPeekLedger(path))
				account := execute(t, c, dropPlan(t, q, plan.Selection{}, n))
				assert.Equal(t, account.Dropped, first, "%+v", account)
				assert.Equal(t, account.Unknown, 0)
				assert.That(t, account.Stopped != "", "%+v", account)
				a.await(q, n-first)
			})
		}
	})
}

// A replay in stages takes what is ahead of such a message, and says why it ends.
func TestCanaryBeforeAnUnconvertible(t *testing.T) {
	skipUnlessConverted(t)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const before, n = 6, 6 + 1 + 6
		a := newApp(t)
		from, to := canaryStage(a, kind, numbered(before)...)
		sendAMQP10(t, node, from.Name, unconvertible())
		a.await(from, before+1)
		a.publish(from, numbered(6)...)
		w := a.work(to, succeed)
		path := journalPath(t)
		account := execute(t, newProcess(t, path, journal.NewPeekLedger(path)), canaryPlan(t, plan.Replay, from, to, n))
		assert.That(t, account.Moved <= before, "%+v", account)
		assert.Equal(t, account.Unknown, 0)
		assert.That(t, account.Stopped != "", "%+v", account)
		a.await(from, n-account.Moved)
		got := w.received()
		assert.That(t, len(got) == account.Moved, "the worker got %v, and the account says %d", got, account.Moved)
	})
}

// TestLooksAtOnceOfUnconvertible looks at random at queues with such messages at the head, in the middle, or several,
// by clients that share what they remember: nothing is lost without insisting, and with it at most the messages that
// cannot be converted.
func TestLooksAtOnceOfUnconvertible(t *testing.T) {
	t.Parallel()
	skipUnlessConverted(t)
	const good = 20
	type held struct {
		*model.Queue
		model.Settings
		n, bad, insists int
	}

	a, r := newApp(t), seed.Rand(t)

	var queues []held
	for i, kind := range []model.QueueType{model.Quorum, model.Quorum, model.Quorum, model.Quorum, model.Classic} {
		limit := []int{deliveryLimit, 4, deliveryLimit, 4, deliveryLimit}[i]
		q := a.queue(fmt.Sprint("q", i), kind)
		s := limitOf(int64(limit))
		if kind == model.Quorum {
			a.deleteQueue(q.Name)
			q, s = a.limited(fmt.Sprint("q", i), limit)
		}

		before := r.IntN(good)
		a.publish(q, numbered(before)...)
		bad := 1 + r.IntN(3)
		for range bad {
			sendAMQP10(t, node, q.Name, unconvertible())
		}

		a.await(q, before+bad)
		a.publish(q, numbered(good-before)...)
		queues = append(queues, held{q, s, good + bad, bad, 10 * (i / 2 % 2)}) // of a hundred
	}

	path := journalPath(t)
	refused := 0
	ended := 0
	total := size.Of(60, 10_000)

	var c *broker.Client
	for i := range total {
		if i%5 == 0 {
			if c != nil {
				c.Close()
			}
			c = newProcess(t, path, journal.NewPeekLedger(path))
		}

		q := queues[r.IntN(len(queues))]
		look := allLooks[r.IntN(len(allLooks))]
		_, err := look.do(t.Context(), c, q.Queue, q.Settings, r.IntN(100) < q.insists)
		var why peek.RefusedLook
		switch {
		case errors.As(err, &why):
			refused++
		case err != nil:
			ended++
		}
	}

	t.Logf("%d looks, %d of them refused, %d ended", total, refused, ended)
	for _, q := range queues {
		a.until(func() error {
			n := a.ready(q.Queue)
			if q.insists == 0 && n != q.n || n < good {
				return fmt.Errorf("%s: %d of %d messages are left, %d of them not convertible", q.Name, n, q.n, q.bad)
			}
			return nil
		})

		if lost := q.n - a.ready(q.Queue); lost > 0 {
			t.Logf("%s: %d of %d that cannot be converted were lost by looks that were insisted on", q.Name, lost, q.bad)
		}
	}
}
