package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/target"
)

// TestReplayToAnInternalExchange: whether it is known that the exchange is internal or not, nothing is taken out of the
// queue.
func TestReplayToAnInternalExchange(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		exchange := to.Name + ".internal"
		must.Do(t, a.channel.ExchangeDeclare(exchange, "direct", false, true, true, false, nil))
		must.Do(t, a.channel.QueueBind(to.Name, "k", exchange, false, nil))
		a.publish(from.QueueRef, numbered(50)...)
		told := topology([]*model.Queue{from, to}, exchange)
		want := plan.ActionWant{
			Operation: plan.Replay, From: from.QueueRef, Planned: 50, Mode: target.ToExchange,
			Fixed: model.Address{Exchange: exchange, RoutingKey: "k"}, User: "guest", Insist: true,
		}
		account := execute(t, c, planned(t, told, want))
		wantOutcome(t, account, outcome{Planned: 50, Refused: 1, Stopped: true})
		assert.Contains(t, account.Stopped, "internal")
		snapshot := *told.Snapshot
		for i := range snapshot.Exchanges {
			snapshot.Exchanges[i].Internal = snapshot.Exchanges[i].Name == exchange
		}
		made := plan.New(model.NewTopology(&snapshot), want)
		assert.That(t, strings.Contains(made.Refusal.Words(), "internal"), "the plan says %q", made.Refusal.Words())
		wantIDs(t, "kept", a.drain(from.QueueRef, 50), count(50))
	})
}

// messageThatIsTooLarge: a broker that takes smaller messages than it has closes the channel for the large one. It is
// known which one that was, whatever was under way with it, and the rest stays where it is.
func messageThatIsTooLarge(t *testing.T, n *demo.Node) {
	const total, large = 2000, 1500
	type queues struct{ from, to *model.Queue }
	var all []queues
	a := newAppOn(t, n)
	for _, kind := range kinds {
		q := queues{
			described(a.queue("failed."+string(kind), kind), kind),
			described(a.queue("worker."+string(kind), kind), kind),
		}
		messages := numbered(total)
		messages[large-1].Body = make([]byte, 15<<20) // 4.x takes up to 16 MiB by default, 3.10 up to 128 MiB
		a.publish(q.from.QueueRef, messages...)
		all = append(all, q)
	}
	limit := func(bytes int) {
		t.Helper()
		_, err := n.Control(context.Background(), "eval",
			fmt.Sprintf("application:set_env(rabbit, max_message_size, %[1]d), persistent_term:put(max_message_size, "+
				"%[1]d).", bytes))
		assert.That(t, err == nil, "%v", err)
	}
	limit(8_000_000)
	defer limit(16 << 20)
	for _, q := range all {
		c := clientOf(t, n)
		made := replayTo(t, q.from, q.to, plan.Selection{})
		made.Planned = total
		account := execute(t, c, made)
		wantOutcome(t, account, outcome{Planned: total, Moved: large - 1, Refused: 1, Stopped: true})
		assert.That(t, len(account.Problems) == 1 && account.Problems[0].MessageID == fmt.Sprint(large) &&
			strings.Contains(account.Problems[0].Reason, "size") && strings.Contains(account.Stopped, "size"), "%+v", account)
		wantIDs(t, "moved", a.drain(q.to.QueueRef, large-1), count(large-1))
		wantIDs(t, "kept", a.drain(q.from.QueueRef, total-large+1), count(total)[large-1:])
	}
}

// TestWhatTheBrokerDoesNotTakeAgain drops messages with a foreign user_id, an expiration, CC and BCC, and takes that
// back: each is in its queue once, nowhere else, and without what the broker would refuse or send further.
func TestWhatTheBrokerDoesNotTakeAgain(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		from, others := described(a.queue("failed", kind), kind), a.queue("others", kind)
		foreign := must.Get(amqp.Dial(otherUser(t)))(t)
		defer foreign.Close()
		channel := must.Get(foreign.Channel())(t)
		must.Do(t, channel.Confirm(false))
		for i, m := range []amqp.Publishing{
			{UserId: "other"},
			{Expiration: "600000"},
			{Headers: amqp.Table{"CC": []any{others.Name}, "keep": "me"}},
			{Headers: amqp.Table{"BCC": []any{others.Name}}},
		} {
			m.MessageId, m.Body = fmt.Sprint(i+1), []byte("body")
			confirm := must.Get(channel.PublishWithDeferredConfirm("", from.Name, true, false, m))(t)
			a.confirmed(confirm)
		}
		a.await(from.QueueRef, 4)
		wantIDs(t, "by CC and BCC", a.drain(others, 2), []string{"3", "4"})
		c, j := journaled(t, false)
		account := execute(t, c, dropPlan(t, from, plan.Selection{}, 4))
		wantOutcome(t, account, outcome{Planned: 4, Dropped: 4})
		wantOutcome(t, undo(t, c, j, account.JournalID, from), outcome{Planned: 4, Moved: 4})
		back := a.drain(from.QueueRef, 4)
		wantIDs(t, "brought back", back, count(4))
		assert.That(t, back[0].UserId == "" && back[1].Expiration == "600000" && back[2].Headers["keep"] == "me" &&
			back[2].Headers["CC"] == nil, "%+v", back)
		a.drain(others, 0)
	})
}

// TestImportOfABadMessage: what would end the channel is refused before, and the others are imported, without the
// header that is to be removed.
func TestImportOfABadMessage(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	q := a.queue("q", model.Classic)
	into := resume.ImportPlan{Into: plan.Recipient{Queue: q}, Undelays: true}
	account, err := c.Import(t.Context(), into, func(add func(*message.Message) error) error {
		for _, m := range []message.Message{
			{Properties: message.Properties{MessageID: "1", UserID: "somebody else"}},
			{Properties: message.Properties{MessageID: "2", Expiration: "tomorrow"}},
			{Properties: message.Properties{MessageID: "3"}, Headers: model.Table{"CC": "no list", "BCC": []any{"elsewhere"}}},
			{Properties: message.Properties{MessageID: "4"}, Headers: model.Table{message.DeliveryTimeHeader: int64(9)}},
			// a millisecond more than the broker takes
			{Properties: message.Properties{MessageID: "5", Expiration: "315360000001"}},
			{Properties: message.Properties{MessageID: "6", Expiration: "+315360000000"}},
		} {
			if err := add(&m); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	must.Do(t, err)
	wantOutcome(t, account, outcome{Planned: 6, Moved: 4, Refused: 2})
	assert.That(t, len(account.Problems) == 2 && strings.Contains(account.Problems[0].Reason, "expiration"),
		"%+v", account.Problems)
	imported := a.drain(q, 4)
	wantIDs(t, "imported", imported, []string{"1", "3", "4", "6"})
	assert.That(t, len(imported[2].Headers) == 0, "%+v", imported[2].Headers)
}

// anotherBrokerAtTheSameAddress: what was planned on one broker is not done on another one that answers at its address
// later.
func anotherBrokerAtTheSameAddress(t *testing.T, other *demo.Node) {
	cable, address := newCable(t, 0)
	c := newClient(t, broker.Options{URL: address})
	must.Do(t, c.Check(t.Context(), ""))
	cable.lead(t, other)
	cable.cut()
	var connect *model.ConnectError
	app := newApp(t)
	app.until(func() error { // until the client has noticed the cut
		if err := c.Check(t.Context(), ""); !errors.As(err, &connect) {
			return fmt.Errorf("it said: %w", err)
		}
		return nil
	})
	assert.That(t, connect.Kind == model.TwoBrokers && strings.Contains(connect.Cause, "belonged to"), "%+v", connect)
	cable.lead(t, node)
	assert.Succeeds(t, c.Check(t.Context(), ""))
}
