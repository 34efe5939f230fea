package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// journaled returns a client with its own journal.
func journaled(t testing.TB, full bool) (*broker.Client, *journal.Journal) {
	t.Helper()
	j := openJournal(t, journalPath(t))
	return journaledBy(t, j, full), j
}

// journalPath returns where a new journal may be.
func journalPath(t testing.TB) string { return filepath.Join(t.TempDir(), "journal.db") }

// openJournal opens a journal, as one more program.
func openJournal(t testing.TB, path string) *journal.Journal {
	j := journal.New(journal.Options{Path: path})
	t.Cleanup(func() { j.Close() })
	return j
}

// recordsOf returns all records of a journal, the newest first.
func recordsOf(t testing.TB, j *journal.Journal) []plan.Record {
	t.Helper()
	return must.Get(j.Records(context.Background(), 0))(t)
}

// eachEntry iterates over everything that a journal has of messages.
func eachEntry(t testing.TB, j *journal.Journal, each func(*plan.Record, *plan.Entry)) {
	t.Helper()
	for _, r := range recordsOf(t, j) {
		must.Do(t, entriesOf(j, r.ID)(func(e *plan.Entry) error { each(&r, e); return nil }))
	}
}

func journaledBy(t testing.TB, j broker.Recorder, full bool) *broker.Client {
	t.Helper()
	return newClient(t, broker.Options{URL: node.AMQP(), Journal: j, Full: full})
}

// undo plans the undo of a record and runs it.
func undo(t testing.TB, c *broker.Client, j *journal.Journal, id int64, queues ...*model.Queue) plan.Account {
	t.Helper()
	made := planUndo(t, c, j, id, queues...)
	must.Equal(t, made.Refusal.Words(), "")
	return must.Get(c.Undo(t.Context(), made, nil))(t)
}

// entriesOf reads the entries of a record.
func entriesOf(j *journal.Journal, id int64) func(plan.VisitEntry) error {
	return func(each plan.VisitEntry) error { return j.Entries(context.Background(), id, each) }
}

func planUndo(t testing.TB, c *broker.Client, j *journal.Journal, id int64, queues ...*model.Queue) plan.UndoPlan {
	t.Helper()
	return must.Get(undoPlan(t.Context(), c, j, id, node.Version(), queues))(t)
}

// undoPlan looks at the queue when the outcome of some messages is unknown, as the program does.
func undoPlan(
	ctx context.Context, c *broker.Client, j *journal.Journal, id int64, version string, queues []*model.Queue,
) (plan.UndoPlan, error) {
	record, err := j.Record(ctx, id)
	if err != nil {
		return plan.UndoPlan{}, err
	}
	want := plan.UndoWant{Record: record, User: c.User(), Broker: c.Address(), Entries: entriesOf(j, id)}
	t := topologyOf(version, queues)
	p, err := plan.ForUndo(t, want)
	if err != nil || p.Uncertain == 0 {
		return p, err
	}
	want.There = message.Twins{}
	if _, err := c.Read(ctx, peek.For(t, queues[0].QueueRef, peek.Want{ForAction: true}), func(m *message.Message) error {
		want.There[m.Fingerprint]++
		return nil
	}); err != nil {
		return p, err
	}

	return plan.ForUndo(t, want)
}

// random returns a message with random properties, a random body, and headers of every type, nested, with a history in
// x-death. Its priority is at most 4: quorum queues serve higher ones before messages without any (4.0.5, 4.3.6), and
// the tests rely on an order.
func random(r *rand.Rand, id int) amqp.Publishing {
	short := func() string {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}

	m := amqp.Publishing{
		MessageId: fmt.Sprint(id), Headers: randomTable(r, 3), ContentType: short(), ContentEncoding: short(),
		DeliveryMode: uint8(r.IntN(3)), Priority: uint8(r.IntN(5)), CorrelationId: short(), ReplyTo: short(),
		Type: short(), AppId: short(), Body: []byte(strings.Repeat(short(), r.IntN(40))),
	}

	if r.IntN(2) == 0 {
		m.UserId, m.Expiration, m.Timestamp = "guest", "600000", time.Unix(r.Int64N(1<<33), 0)
	}

	m.Headers["x-death"] = []any{amqp.Table{
		"queue": "elsewhere", "reason": "expired", "count": int64(r.IntN(9)), "exchange": "e", "routing-keys": []any{"k"},
		"time": time.Unix(r.Int64N(1<<33), 0), "original-expiration": "500",
	}}

	m.Headers["x-first-death-queue"] = "elsewhere"
	return m
}

func randomTable(r *rand.Rand, depth int) amqp.Table {
	t := amqp.Table{}
	for i := range r.IntN(6) {
		t[fmt.Sprintf("h%d-%c", i, rune(r.IntN(0x2000)+0x20))] = randomValue(r, depth)
	}
	return t
}

func randomValue(r *rand.Rand, depth int) any {
	n := r.Uint64()
	simple := []any{
		nil, n%2 == 0, int8(n), byte(n), int16(n), uint16(n), int32(n), uint32(n), int64(n),
		math.Float32frombits(uint32(n) &^ 0x7f800000), // NaN does not equal itself
		math.Float64frombits(n &^ 0x7ff0000000000000),
		amqp.Decimal{Scale: uint8(n), Value: int32(n >> 8)},
		fmt.Appendf(nil, "%c%x", rune(n%256), n), time.Unix(int64(n>>30), 0), fmt.Sprintf("%x\xff\x00", n),
	}

	switch choice := r.IntN(len(simple) + 3); {
	case choice < len(simple):
		return simple[choice]
	case choice == len(simple):
		list := []any{}
		for range r.IntN(4) * min(depth, 1) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	case depth > 0:
		return randomTable(r, depth-1)
	}

	return simple[len(simple)-1]
}

// wantSame compares messages with those of an untouched queue, in everything that a publisher can set.
func wantSame(t testing.TB, want, got []amqp.Delivery) {
	t.Helper()
	must.Equal(t, len(want), len(got), "messages")
	differing := 0
	for i := range got {
		if diff := cmp.Diff(asPublished(want[i]), asPublished(got[i]), cmpopts.EquateEmpty()); diff != "" {
			if differing++; differing < 3 {
				t.Errorf("message %d: %s", i, diff)
			}
		}
	}

	assert.That(t, differing == 0, "%d messages differ", differing)
}

// putBack publishes messages that were taken out of a queue.
func (a *app) putBack(q *model.Queue, taken []amqp.Delivery) {
	a.Helper()
	messages := make([]amqp.Publishing, len(taken))
	for i, d := range taken {
		messages[i] = asPublished(d)
	}
	a.publish(q, messages...)
}

func asPublished(d amqp.Delivery) amqp.Publishing {
	headers := amqp.Table{}
	for key, v := range d.Headers {
		if key != "x-delivery-count" && key != "x-acquired-count" {
			headers[key] = v
		}
	}

	return amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode,
		Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration,
		MessageId: d.MessageId, Timestamp: d.Timestamp, Type: d.Type, UserId: d.UserId, AppId: d.AppId, Body: d.Body,
	}
}

func randomMessages(t testing.TB, n int) []amqp.Publishing {
	r := seed.Rand(t)
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = random(r, i)
	}
	return messages
}

func TestUndoOfADrop(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		n := size.Of(500, 10_000)
		a := newApp(t)
		c, j := journaled(t, false)
		messages := randomMessages(t, n)
		from := a.filled("failed", kind, messages...)
		untouched := a.filled("untouched", kind, messages...)
		account := executed(t, c, dropPlan(t, from, plan.Selection{}, n), outcome{Planned: n, Dropped: n})
		a.await(from, 0)

		wantOutcome(t, undo(t, c, j, account.JournalID, from), outcome{Planned: n, Moved: n})
		a.await(from, n)
		again := planUndo(t, c, j, account.JournalID, from)
		assert.That(t, strings.Contains(again.Refusal.Words(), "nothing to undo"), "a second undo: %+v", again)
		wantSame(t, a.drain(untouched, n), a.drain(from, n))
		records := recordsOf(t, j)
		must.Equal(t, len(records), 2, "%+v", records)
		assert.Equal(t, records[0].Undoes, account.JournalID)
		assert.Equal(t, records[0].Told(), fmt.Sprintf("%d brought back", n))
		assert.Equal(t, records[1].Undone, n)
	})
}

func TestUndoOfAReplay(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprint("full ", full), func(t *testing.T) {
				t.Parallel()
				n, taken := size.Of(200, 10_000), 50
				a := newApp(t)
				c, j := journaled(t, full)
				messages := randomMessages(t, n)
				from := a.filled("failed", kind, messages...)
				untouched := a.filled("untouched", kind, messages...)
				to := a.filled("worker", kind, numbered(200)...) // sent messages are behind others
				made := replayTo(t, from, to, plan.Selection{})
				made.Mark = true
				account := executed(t, c, made, outcome{Planned: n, Moved: n})
				a.publish(to, numbered(3)...)

				for range 200 + taken { // a consumer takes the first of them, and everything that was there before
					_, ok, err := a.channel.Get(to.Name, true)
					must.Do(t, err)
					must.That(t, ok, "nothing to get")
				}

				account = undo(t, c, j, account.JournalID, from, to)
				wantOutcome(t, account, outcome{Planned: n, Moved: n - taken, Gone: taken})
				wantSame(t, a.drain(untouched, n)[taken:], a.drain(from, n-taken))
				wantIDs(t, "of others", a.drain(to, 3), count(3))
			})
		}
	})
}

// failing is a journal that fails from some intention on, or with all outcomes.
type failing struct {
	broker.Recorder
	left     int
	outcomes bool
}

func (f *failing) Settle(id int64, settled []plan.Settled) error {
	if f.outcomes {
		return errors.New("the journal cannot be written: the disk is full")
	}
	return f.Recorder.Settle(id, settled)
}

func (f *failing) Write(id int64, entries []plan.Entry, settled []plan.Settled) error {
	if len(entries) > 0 {
		f.left--
	}
	if f.left < 0 || f.outcomes && len(settled) > 0 {
		return errors.New("the journal cannot be written: the disk is full")
	}
	return f.Recorder.Write(id, entries, settled)
}

// What could not be recorded stays where it is.
func TestWithoutJournalNothingIsDone(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 3000
		a := newApp(t)
		from, to := a.moving(kind, numbered(n)...)
		unusable := journaledBy(t, journal.New(journal.Options{Path: "/dev/null/journal.db"}), false)
		for _, p := range []plan.Run{dropPlan(t, from, plan.Selection{}, n), replayTo(t, from, to, plan.Selection{})} {
			_, err := unusable.Execute(t.Context(), p, nil)
			assert.That(t, errors.Is(err, plan.ErrJournal), "%s: %v", p.Operation, err)
			a.await(from, n)
		}

		_, j := journaled(t, false)
		left := n
		for _, made := range []plan.Run{dropPlan(t, from, plan.Selection{}, n), replayTo(t, from, to, plan.Selection{})} {
			account := execute(t, journaledBy(t, &failing{Recorder: j, left: 2}, false), made)
			done := account.Moved + account.Dropped
			assert.That(t, done != 0, "%s: %+v", made.Operation, account)
			assert.That(t, done <= 2*500, "%s: %+v", made.Operation, account)
			assert.Contains(t, account.Stopped, "disk is full", "%v", made.Operation)
			assert.That(t, account.Refused+account.Returned+account.Unknown <= 0, "%s: %+v", made.Operation, account)
			left -= done
			a.await(from, left)
		}

		records := recordsOf(t, j)
		must.Equal(t, len(records), 2, "%+v", records)
		assert.That(t, !records[0].Unfinished(), "%+v", records)
	})
}

// An execution whose outcomes cannot be recorded soon stops, and does not wait for ever.
func TestOutcomesThatCannotBeWritten(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		n := size.Of(2500, 5000)
		a := newApp(t)
		from, to := a.moving(kind, numbered(n)...)
		_, j := journaled(t, false)
		c := journaledBy(t, &failing{Recorder: j, left: n, outcomes: true}, false)
		account := execute(t, c, replayTo(t, from, to, plan.Selection{}))
		assert.That(t, account.Moved != n, "%+v", account)
		assert.Contains(t, account.Stopped, "disk is full")
		a.await(from, n-account.Moved)
	})
}
