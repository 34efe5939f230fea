package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// limited returns a client of the test's own user, who has every right on "/" but limits.
func limited(t *testing.T, limits rabbithole.UserLimitsValues) (c *broker.Client, address string) {
	t.Helper()
	name := userOf(t)
	address = user(t, name, manage.EveryRight)
	n := manage.Of(t, node.API())
	t.Cleanup(func() { n.Done(n.DeleteUser(name)) })
	n.Done(n.PutUserLimits(name, limits))
	return newClient(t, broker.Options{URL: address}), address
}

// userOf names the user of a test.
func userOf(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

// atLimit checks that err is about a limit, in these words.
func atLimit(t *testing.T, err error, words string) {
	t.Helper()
	var e *trouble.Error
	must.That(t, errors.As(err, &e), "got %v, want a limit: %s", err, words)
	assert.Equal(t, e.Kind, trouble.AtLimit)
	assert.Contains(t, e.Cause, words)
}

// useAChannel opens the one channel that a user may have, and waits until it counts: RabbitMQ counts channels after
// opening them, and two opened at the same time may both pass (seen on 4.3.6).
func useAChannel(t *testing.T, a *app, address string) {
	t.Helper()
	open := func() error {
		conn := must.Get(amqp.Dial(address))(t)
		t.Cleanup(func() { conn.Close() })
		_, err := conn.Channel()
		if err != nil {
			conn.Close()
		}
		return err
	}

	must.Do(t, open())
	must.Await(t, "no second channel is let in", func() bool { return open() != nil })
}

// A refusal by a limit is explained, nothing has happened, and it works when the limit is lifted.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		kind  string
		value int
		peeks bool // otherwise only the replay is refused, when it connects to publish
		words string
	}{
		{"max-channels", 0, false, "may have no open channel (max-channels is 0)"},
		{"max-channels", 1, false, "may have 1 open channel (max-channels), and it is in use"},
		{"max-channels", 2, true, "may have 2 open channels (max-channels), and all are in use"},
		{"max-connections", 0, false, "may have no connection (max-connections is 0)"},
		{"max-connections", 1, true, "may have 1 connection (max-connections), and it is in use"},
	} {
		t.Run(fmt.Sprint(test.kind, test.value), func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			from, to := a.moving(model.Classic, numbered(3)...)
			c, address := limited(t, rabbithole.UserLimitsValues{test.kind: test.value})
			if test.kind == "max-channels" && test.value == 1 {
				useAChannel(t, a, address)
			}

			look := planPeek(from, peek.Want{Limit: 10})
			if test.peeks {
				assert.Equal(t, len(peekAt(t, c, look).Messages), 3, "messages")
			} else {
				_, err := c.Peek(t.Context(), look)
				atLimit(t, err, test.words)
			}

			made := replayTo(t, from, to, plan.Selection{})
			_, err := c.Execute(t.Context(), made, nil)
			atLimit(t, err, test.words)
			a.await(from, 3)
			a.await(to, 0)

			n := manage.Of(t, node.API())
			n.Done(n.DeleteUserLimits(userOf(t), rabbithole.UserLimits{test.kind}))
			executed(t, c, made, outcome{Planned: 3, Moved: 3})
			must.Get(c.Count(t.Context(), []model.QueueRef{from.QueueRef, to.QueueRef}))(t)
		})
	}
}

func TestLimitOfAVHost(t *testing.T) {
	t.Parallel()
	const vhost = "limited limit"
	manage.VHost(t, node.API(), vhost)
	n := manage.Of(t, node.API())
	n.Done(n.PutVhostLimits(vhost, rabbithole.VhostLimitsValues{"max-connections": 1}))
	first, second := client(t), client(t)
	must.Do(t, first.Check(t.Context(), vhost))
	atLimit(t, second.Check(t.Context(), vhost),
		"the vhost limited limit takes 1 connection (max-connections), and it is in use")
	must.Do(t, first.Close())
	(&app{TB: t}).until(func() error { return second.Check(t.Context(), vhost) }) // the first one counts for a moment
}

// A channel beyond a limit closes its connection, and held messages would be requeued. So a count beside a look opens
// none on that connection.
func TestLimitEndsNoLook(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	// A look that rescues would need a third channel.
	queue := a.filled("q", model.Classic, numbered(5)...)
	c, _ := limited(t, rabbithole.UserLimitsValues{"max-channels": 2})
	n := 0
	read := must.Get(c.Read(t.Context(), planPeek(queue, peek.Want{Limit: 5}),
		func(*message.Message) error {
			if n++; n == 1 {
				_, err := c.Count(t.Context(), []model.QueueRef{queue.QueueRef})
				atLimit(t, err, "may have 2 open channels")
			}
			return nil
		}))(t)
	assert.Equal(t, n, 5, "were read: %s", read.Stopped)
	assert.Equal(t, read.Stopped, "")
	a.await(queue, 5)
	assert.Equal(t, countOf(t, c, queue).Ready.Or(0), 5, "after the look")
}

// It opens eight if allowed, otherwise as many as possible.
func TestCountMakesDoWithFewChannels(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	var queues []model.QueueRef
	for i := range 9 {
		queues = append(queues, a.queue(strings.Repeat("q", i+1), model.Classic).QueueRef)
	}

	c, _ := limited(t, rabbithole.UserLimitsValues{"max-channels": 3})
	assert.Equal(t, len(must.Get(c.Count(t.Context(), queues))(t)), len(queues), "queues")
	lost, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	assert.Succeeds(t, c.Lost(lost))
}

// Limits in the node's configuration.
func TestLimitsOfTheNode(t *testing.T) {
	size.Long(t)
	t.Parallel()
	perNode := model.ParseVersion(node.Version()).AtLeast(4, 0)
	settings := "channel_max = 1\n"
	if perNode {
		settings += "connection_max = 1\n"
	}

	n := must.Get(demo.Start(t.Context(), demo.Options{Settings: settings}))(t)
	t.Cleanup(func() { n.Stop() })
	c := clientOf(t, n)
	made := planPeek(described(build.Ref("q"), model.Classic), peek.Want{Limit: 5})
	var connection *amqp.Connection
	(&app{TB: t}).until(func() (err error) { // the connection that waited for the start counts for a moment
		connection, err = amqp.Dial(n.AMQP())
		return err
	})

	must.Get(must.Get(connection.Channel())(t).QueueDeclare("q", true, false, false, false, nil))(t)

	if perNode {
		atLimit(t, c.Check(t.Context(), "/"), "the broker's node takes 1 connection (connection_max), and it is in use")
	}

	must.Do(t, connection.Close())
	_, err := c.Peek(t.Context(), made)
	atLimit(t, err, "the broker allows 1 channel for each connection (channel_max), and dlxtop needs 3")
}

func TestReplayAtARate(t *testing.T) {
	a, c := newApp(t), client(t)
	from, to := a.moving(model.Classic, numbered(10)...)
	made := replayTo(t, from, to, plan.Selection{})
	made.Rate = 20
	account := executed(t, c, made, outcome{Planned: 10, Moved: 10})
	assert.That(t, account.Elapsed >= 400*time.Millisecond, "10 messages at 20/s took %s", account.Elapsed)
}

// Many small acknowledgements reach the queue before the end, and messages that were only looked at keep their place.
func TestActingAtARateKeepsTheOrder(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		c.SetComeback(patience)
		const n, first = 100, 40
		from := a.filled("failed", kind, numbered(n)...)
		lookAt(t, c, from, peek.Want{Limit: n})
		made := dropPlan(t, from, plan.Selection{Limit: first}, first)
		made.Rate = 400
		executed(t, c, made, outcome{Planned: first, Dropped: first})
		wantIDs(t, "kept", a.drain(from, n-first), count(n)[first:])
	})
}

// RabbitMQ closes a channel that holds a message for 30 minutes, so a replay at a low rate takes no more than it sends
// in 15.
func TestSlowRateHoldsFewMessages(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		c.SetComeback(patience)
		const n, most = 100, 18
		from, to := a.moving(kind, numbered(n)...)
		made := replayTo(t, from, to, plan.Selection{})
		made.Rate = most / (15 * 60.)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		held := 0
		go func() {
			defer cancel()
			a.await(to, 1)
			held = n - a.ready(from)
		}()

		account, err := c.Execute(ctx, made, nil)
		<-ctx.Done()
		must.Do(t, err)
		must.That(t, account.Stopped != "", "%+v", account)
		must.Equal(t, account.Moved, 1)
		assert.That(t, held >= 1 && held <= most, "it held %d messages, want %d at most", held, most)
		wantIDs(t, "kept", a.drain(from, n-1), count(n)[1:])
	})
}

// A replay that takes longer than the consumer timeout of its queue holds each message for a part of that alone. 4.3
// takes back what is held for longer within a second.
func TestSlowReplayWithinAConsumerTimeout(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	const n = 24
	from, to := a.queue("failed", model.Quorum, "x-consumer-timeout", int64(3000)), a.queue("worker", model.Classic)
	a.publish(from, numbered(n)...)
	made := replayTo(t, from, to, plan.Selection{})
	made.Rate = 3
	executed(t, c, made, outcome{Planned: n, Moved: n})
}

// slowed suspends the process of a quorum queue for 0.6 s again and again, like a slow disk, until end is called, and
// for a minute at most.
func slowed(t *testing.T, n *demo.Node, queue model.QueueRef) (end func()) {
	t.Helper()
	return stopped(t, n, queue, 600*time.Millisecond, 100)
}

// stopped suspends the process of a quorum queue, a number of times with 10 ms in between, until end is called. It is
// suspended when stopped returns.
func stopped(t *testing.T, n *demo.Node, queue model.QueueRef, pause time.Duration, times int) (end func()) {
	t.Helper()
	return disturbed(t, n, queue, times, fmt.Sprintf(`
		erlang:suspend_process(whereis(Process)), Begun(), Pause(%d),
		erlang:resume_process(whereis(Process)), timer:sleep(10)`, pause.Milliseconds()))
}

// withoutLeader keeps a broker from knowing the leader of a quorum queue until end is called, for a minute at most.
// That is so after a node with leaders has ended, until the new leader, or its tick every 5 s, has recorded itself.
func withoutLeader(t *testing.T, n *demo.Node, queue model.QueueRef) (end func()) {
	t.Helper()
	return disturbed(t, n, queue, 1, `
		Record = fun(Node) ->
			Set = fun(Q) -> amqqueue:set_pid(Q, {Process, Node}) end,
			ra_leaderboard:record(Process, {Process, Node}, [{Process, node()}]),
			case erlang:function_exported(rabbit_db_queue, update, 2) of
				true -> rabbit_db_queue:update(Name, Set);
				false -> rabbit_misc:execute_mnesia_transaction(fun() -> rabbit_amqqueue:update(Name, Set) end)
			end
		end,
		Forget = fun Forget(Left) ->
			case Left =:= 0 orelse Over() of
				true -> Record(node());
				false -> Record('nowhere@localhost'), Begun(), timer:sleep(20), Forget(Left - 1)
			end
		end,
		Forget(3000)`)
}

// withoutLeaderFor7s does so for 7 s, and closes ended then.
func withoutLeaderFor7s(t *testing.T, queue *model.Queue) (ended <-chan struct{}) {
	t.Helper()
	end := withoutLeader(t, node, queue.QueueRef)
	over := make(chan struct{})
	time.AfterFunc(7*time.Second, func() { end(); close(over) })
	return over
}

// disturbed does something to a quorum queue, a number of times until end is called. It has begun when disturbed
// returns. how is in Erlang: it calls Begun, and may call Over and Pause.
func disturbed(t *testing.T, n *demo.Node, queue model.QueueRef, times int, how string) (end func()) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	here := filepath.Join(dir, "here")
	over := filepath.Join(dir, "over")
	ended := make(chan error, 1)
	go func() {
		_, err := n.Control(context.Background(), "eval", fmt.Sprintf(`
			Name = rabbit_misc:r(<<%q>>, queue, <<%q>>),
			{ok, Queue} = rabbit_amqqueue:lookup(Name),
			Process = element(1, amqqueue:get_pid(Queue)),
			Begun = fun() -> file:write_file(%q, "") end,
			Over = fun() -> filelib:is_file(%q) end,
			Pause = fun Pause(Left) ->
				case Left > 0 andalso not Over() of true -> timer:sleep(20), Pause(Left - 20); false -> ok end
			end,
			Again = fun Again(Left) ->
				case Left =:= 0 orelse Over() of true -> ok; false -> %s, Again(Left - 1) end
			end,
			Again(%d).`, queue.VHost, queue.Name, here, over, how, times))

		ended <- err
	}()

	a := newAppOn(t, n)

	a.until(func() error {
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		_, err := os.Stat(here)
		return err
	})

	return func() {
		t.Helper()
		assert.Succeeds(t, os.WriteFile(over, nil, 0o600))
		assert.Succeeds(t, <-ended)
	}
}

// A quorum queue that does not answer within a quarter of a second counts as empty and without consumers in a passive
// declare (3.10.8, 4.0.5, 4.3.6).
func TestSlowQueueIsNotEmpty(t *testing.T) {
	a, c := besideOthers(t)
	n := size.Of(500, 2000)
	from, to := a.moving(model.Quorum, numbered(n)...)
	end := slowed(t, node, from.QueueRef)
	defer end()
	for range 20 {
		ready, told := countOf(t, c, from).Ready.Get()
		assert.That(t, !told || ready == int64(n), "%d counted", ready)
	}

	peeked := must.Get(c.Peek(t.Context(), planPeek(from, peek.Want{Limit: n})))(t)
	assert.Equal(t, peeked.Messages.Len(), n, "looked at")
	executed(t, c, replayTo(t, from, to, plan.Selection{}), outcome{Planned: n, Moved: n})
	wantIDs(t, "there", a.drain(to, n), count(n))
}
