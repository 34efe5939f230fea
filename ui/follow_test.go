package ui

import (
	"context"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestReplayIsFollowedToItsEnd: the account goes on after a replay, and the Journal has the same line later, whether
// the dialog stays open or not: what fails again waits in its retry buffer before it is back.
func TestReplayIsFollowedToItsEnd(t *testing.T) {
	o, node, channel := real(t)
	const worker, failed = "ui.followed", "ui.followed.failed"
	declare(t, channel, failed, nil)
	declare(t, channel, worker, deadTo("ui.followed.retry"))
	declare(t, channel, "ui.followed.retry", waitingFor(2000, worker))
	publish(t, channel, failed, amqp.Publishing{MessageId: "bad"}, amqp.Publishing{MessageId: "good"})
	conn := must.Get(dial.AMQP(node.AMQP()))(t)
	work := must.Get(conn.Channel())(t)
	deliveries := must.Get(work.Consume(worker, "", false, false, false, false, nil))(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for d := range deliveries {
			switch _, tried := d.Headers["x-death"]; {
			case d.MessageId == "good":
				_ = d.Ack(false)
			case tried:
				_ = work.PublishWithContext(t.Context(), "", failed, false, false,
					amqp.Publishing{MessageId: d.MessageId, Headers: d.Headers})
				_ = d.Ack(false)
			default:
				_ = d.Reject(false)
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-over })
	term := onQueue(t, o, failed, 120, 36).await("2 messages").press("R").agree("replay", "What happened")
	term.await("after     all taken", "none came back, up to 1 waiting for a retry")
	term.await("after     all taken", "1 came back; watched for ").press(keyEnter).awaitGone("What happened")
	term.press("5").await("2 moved; 1 came back", "after     all taken", "1 came back; watched for ")
}

// TestEndOfASequelIsTold: how long it is watched counts down, and what came back is told on every screen.
func TestEndOfASequelIsTold(t *testing.T) {
	o, b, c := failedOptions(47)
	b.execute = func(_ context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
		return plan.Account{Operation: p.Operation, From: p.From, Planned: 47, Moved: 47, Mark: "M"}, nil
	}
	over := make(chan struct{})
	b.follow = func(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error) {
		s := plan.Sequel{Sent: 47, Taken: 40, Acked: model.Some[int64](38), Watch: f.Watch, Until: c.now().Add(f.Watch)}
		progress(s)
		select {
		case <-over:
		case <-ctx.Done():
			return s, nil
		}
		s.Taken, s.Back, s.Over = 47, 2, true
		progress(s)
		return s, nil
	}
	term := onQueue(t, o, failedQueue, 120, 36).await("47 messages").press("R").agree("replay", "What happened")
	term.await("40 of 47 taken, 38 of 47 acknowledged, none came back, 7 still waiting;", "watched until 1m39s after all")
	term.golden().press(keyEnter, "1").await("DUE")
	close(over)
	term.await("the replay of " + failedQueue + ": all taken, 38 of 47 acknowledged, 2 came back within 1m39s")
}
