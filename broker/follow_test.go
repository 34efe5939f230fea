package broker_test

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestReplayIsFollowed: what fails again after its retry is seen to come back, by its mark, and by its id where the
// worker has dropped the headers; the record says so while it is followed and afterwards.
func TestReplayIsFollowed(t *testing.T) {
	sideBySide(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		c, j := journaled(t, false)
		source := a.queue("failed", kind)
		retrying := []any{"x-dead-letter-exchange", "", "x-dead-letter-routing-key", "", "x-message-ttl", int64(1000)}
		to := described(a.queue("worker", kind), kind)
		retrying[3] = to.Name
		retry := described(a.queue("retry", kind, retrying...), kind)
		retry.Arguments = model.Table{
			"x-dead-letter-exchange": "", "x-dead-letter-routing-key": to.Name, "x-message-ttl": int64(1000),
		}
		from := described(source, kind)
		to.Consumers = model.Some[int64](1)
		a.publish(source, numbered(12)...)
		a.work(to.QueueRef, func(channel *amqp.Channel, d amqp.Delivery) {
			_, tried := d.Headers["x-death"]
			into := retry.Name
			switch {
			case d.MessageId != "2" && d.MessageId != "3":
				_ = d.Ack(false)
				return
			case tried && d.MessageId == "3":
				d.Headers, into = nil, source.Name
			case tried:
				delete(d.Headers, "x-death")
				into = source.Name
			}
			_ = channel.PublishWithContext(t.Context(), "", into, false, false,
				amqp.Publishing{MessageId: d.MessageId, Headers: d.Headers, Body: []byte("failed again")})
			_ = d.Ack(false)
		})
		topology := topology([]*model.Queue{from, to, retry})
		replay := func(n int) (plan.Run, plan.Account) {
			run := planned(t, topology, plan.ActionWant{
				Operation: plan.Replay, From: source, Planned: n, Mode: "queue", Mark: true, Journaled: true, User: "guest",
				Fixed: model.Address{RoutingKey: to.Name}, Insist: true,
			})
			account := must.Get(c.Execute(t.Context(), run, nil))(t)
			wantOutcome(t, account, outcome{Planned: n, Moved: n})
			return run, account
		}
		run, account := replay(12)
		following, ok := run.Follow(topology, &account)
		must.That(t, ok && following.Sent == 12 && following.Watch == 10*time.Second, "%+v", following)
		ctx, enough := context.WithTimeout(t.Context(), time.Minute)
		defer enough()
		sequel := must.Get(c.Follow(ctx, following, func(s plan.Sequel) {
			if s.Taken == 12 && s.Back == 2 {
				enough()
			}
		}))(t)
		assert.That(t, sequel.Taken == 12 && sequel.Back == 2 && !sequel.Over, "%+v", sequel)
		record := must.Get(j.Record(t.Context(), account.JournalID))(t)
		must.That(t, record.Sequel != nil && record.Sequel.Back == 2, "%+v", record.Sequel)

		run, account = replay(2)
		if following, ok = run.Follow(topology, &account); !ok {
			t.Fatal("it is not followed")
		}
		sequel = must.Get(c.Follow(t.Context(), following, nil))(t)
		record = must.Get(j.Record(t.Context(), account.JournalID))(t)
		assert.That(t, sequel.Over && sequel.Back == 2 && record.Sequel.Over, "%+v %+v", sequel, record.Sequel)
	})
}
