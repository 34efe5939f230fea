package broker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// movePlan plans to move all that was peeked.
func movePlan(t *testing.T, sample []message.Message, from *model.Queue, queues ...*model.Queue) plan.Run {
	t.Helper()
	return planned(t, topology(append([]*model.Queue{from}, queues...)), plan.ActionWant{
		Operation: plan.Move, From: from.QueueRef, Selection: plan.Chosen(sample), Sample: message.MessageList(sample),
		Planned: len(sample), Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: queues[0].Name}, User: "guest", Insist: true, Journaled: true, Mark: true,
	})
}

// TestMoveAndUndo: what died is moved with its history, and an undo brings it back as it was, byte for byte.
func TestMoveAndUndo(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		c, j := journaled(t, false)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("parking", kind), kind)
		source := a.queue("source", model.Classic, "x-message-ttl", int64(1), "x-dead-letter-exchange", "",
			"x-dead-letter-routing-key", from.Name)
		headers := everyType()
		headers["own"] = "kept"
		a.send("", source.Name, amqp.Publishing{
			MessageId: "one", DeliveryMode: 2, UserId: "guest", Expiration: "60000",
			Headers: headers, Body: []byte("first"),
		})
		a.await(from.QueueRef, 1)
		a.publish(from.QueueRef, amqp.Publishing{
			MessageId: "two", Expiration: "600000",
			Headers: amqp.Table{"CC": []any{"nowhere"}}, Body: []byte("second"),
		})
		a.await(from.QueueRef, 2)
		before := peekAt(t, c, planPeek(from, peek.Want{})).Messages

		made := movePlan(t, before, from, to)
		if got := strings.Join(made.Keeps, " "); !strings.HasPrefix(got, "x-death x-first-death-exchange") {
			t.Errorf("keeps %s", got)
		}
		account := execute(t, c, made)
		wantOutcome(t, account, outcome{Planned: 2, Moved: 2})
		a.await(to.QueueRef, 2)
		moved := peekAt(t, c, planPeek(to, peek.Want{})).Messages
		for i, m := range moved {
			assert.That(t, m.Exchange == "" && m.RoutingKey == to.Name && m.Properties.Expiration == "" &&
				m.Headers["CC"] == nil && m.Headers[message.ReplayHeader] == nil && string(m.Body) == string(before[i].Body),
				"moved: %+v", m)
		}
		assert.That(t, len(moved[0].Deaths) == 1 && moved[0].Deaths[0].Queue == source.Name && moved[0].Deaths[0].Count == 1,
			"its history is %+v (%s)", moved[0].Deaths, moved[0].DeathsError)

		wantOutcome(t, undo(t, c, j, account.JournalID, from, to), outcome{Planned: 2, Moved: 2})
		a.await(from.QueueRef, 2)
		after := peekAt(t, c, planPeek(from, peek.Want{})).Messages
		delete(before[1].Headers, "CC") // nobody may set that again without harm
		for i := range before {
			want, got := before[i], after[i]
			if want.Headers = withoutCounters(want.Headers); len(want.Headers) == 0 {
				want.Headers = nil
			}
			got.Headers = withoutCounters(got.Headers)
			diff := cmp.Diff(want.Headers, got.Headers)
			assert.That(t, diff == "" && string(want.Body) == string(got.Body) && want.Properties == got.Properties,
				"brought back: %s %+v %+v", diff, want.Properties, got.Properties)
		}
	})
}

func withoutCounters(headers model.Table) model.Table {
	delete(headers, "x-delivery-count")
	delete(headers, "x-acquired-count")
	return headers
}

// TestMoveWhereDeathsCount: a queue with a dead-letter exchange gets the message without its history, so that nothing
// there takes it for a cycle.
func TestMoveWhereDeathsCount(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	from, parking := described(a.queue("failed", model.Classic), model.Classic), a.queue("parking", model.Classic)
	to := described(a.queue("buffer", model.Classic, "x-message-ttl", int64(50), "x-dead-letter-exchange", "",
		"x-dead-letter-routing-key", from.Name), model.Classic)
	to.Arguments = model.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": from.Name,
		"x-message-ttl": int64(50),
	}
	a.send("", to.Name, amqp.Publishing{MessageId: "one", Body: []byte("first")})
	a.await(from.QueueRef, 1)
	// Thrice around: with its history a broker of 3.x would drop it as a cycle.
	for range 3 {
		sample := peekAt(t, c, planPeek(from, peek.Want{})).Messages
		made := movePlan(t, sample, from, to)
		must.That(t, len(made.Keeps) == 0 && made.Strips[0] == "x-death", "keeps %v, strips %v", made.Keeps, made.Strips)
		wantOutcome(t, execute(t, c, made), outcome{Planned: 1, Moved: 1})
		a.await(from.QueueRef, 1)
	}
	got := a.drain(from.QueueRef, 1)[0]
	assert.That(t, string(got.Body) == "first" && got.MessageId == "one", "%+v", got)
	a.await(parking, 0)
}

// TestMoveWhereNothingIs: the queue went between the plan and its execution; nothing is acknowledged.
func TestMoveWhereNothingIs(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	from, to := described(a.queue("failed", model.Classic), model.Classic),
		described(a.queue("parking", model.Classic), model.Classic)
	a.publish(from.QueueRef, numbered(3)...)
	made := movePlan(t, peekAt(t, c, planPeek(from, peek.Want{})).Messages, from, to)
	must.Get(a.open().QueueDelete(to.Name, false, false, false))(t)
	wantOutcome(t, execute(t, c, made), outcome{Planned: 3, Returned: 3})
	wantIDs(t, "still there", a.drain(from.QueueRef, 3), count(3))
}
