package broker_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

func TestReplayOfOneChosenMessage(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 700
		for _, at := range []int{1, 350, 700} {
			t.Run(fmt.Sprint(at), func(t *testing.T) {
				t.Parallel()
				a, c := newApp(t), client(t)
				c.SetComeback(patience)
				messages := numbered(n)
				messages[at-1].Headers = everyType()
				messages[at-1].Headers["x-death"] = []any{amqp.Table{"queue": "elsewhere", "reason": "rejected", "count": int64(3)}}
				messages[at-1].Headers["x-first-death-queue"] = "elsewhere"
				messages[at-1].AppId = "shop"
				from, to := a.moving(kind, messages...)
				chosen := lookAt(t, c, from, peek.Want{Limit: n}).Messages[at-1]
				executed(t, c, replayTo(t, from, to, those([]message.Message{chosen}), chosen),
					outcome{Planned: 1, Moved: 1})

				got := a.drain(to, 1)[0]
				want := everyType()
				assert.Same(t, want, got.Headers)
				assert.Equal(t, got.MessageId, fmt.Sprint(at), "%+v", got)
				assert.Equal(t, string(got.Body), fmt.Sprintf("body of %d", at))
				assert.Equal(t, got.ContentType, "text/plain")
				assert.Equal(t, got.AppId, "shop")
				assert.Equal(t, got.DeliveryMode, 2)
				rest := a.drain(from, n-1)
				wantIDs(t, "the others", rest, count(n, at))

				for _, d := range rest {
					must.That(t, string(d.Body) == "body of "+d.MessageId, "%s: %s", d.MessageId, d.Body)
				}
			})
		}
	})
}

func TestReplayOfTwins(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		twin := amqp.Publishing{MessageId: "twin", Body: []byte("the same")}
		from, to := a.moving(kind, twin, amqp.Publishing{MessageId: "other"}, twin, twin)
		peeked := lookAt(t, c, from, peek.Want{})
		chosen := []message.Message{peeked.Messages[2], peeked.Messages[3]}
		executed(t, c, replayTo(t, from, to, those(chosen), chosen...), outcome{Planned: 2, Moved: 2})
		wantIDs(t, "moved", a.drain(to, 2), []string{"twin", "twin"})
		got := ids(a.drain(from, 2))
		assert.That(t, slices.Contains(got, "other"), "kept: %v", got)
		assert.That(t, slices.Contains(got, "twin"), "kept: %v", got)
	})
}

func TestReplayOfEverything(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		n := size.Of(1500, 5000)
		from, to := a.moving(kind, numbered(n)...)
		var reports []plan.Account
		account := must.Get(c.Execute(t.Context(), replayTo(t, from, to, plan.Selection{}),
			func(a plan.Account) { reports = append(reports, a) }))(t)
		wantOutcome(t, account, outcome{Planned: n, Moved: n})
		must.That(t, len(reports) > 0, "reports: %+v", reports)
		assert.Equal(t, reports[len(reports)-1].Moved, n)
		a.wantMoved(from, nil, to, count(n))
	})
}

// Quorum queues forget acknowledgements of a channel that is closed too early, so every second message is a hard case.
func TestReplayOfEverySecondMessage(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		n := size.Of(1500, 6000)
		messages := numbered(n)
		for i := 0; i < n; i += 2 {
			messages[i].Type = "odd"
		}
		odd, even := split(n, func(i int) bool { return i%2 == 1 })
		from, to := a.moving(kind, messages...)
		condition := must.Get(filter.ParseExpression(`type == "odd"`))(t)
		made := replayTo(t, from, to, plan.Selection{Filter: condition})
		executed(t, c, made, outcome{Planned: len(odd), Moved: len(odd)})
		a.wantMoved(from, even, to, odd)
	})
}

func TestReplayOfTheFirst(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from, to := a.moving(kind, numbered(50)...)
		executed(t, c, replayTo(t, from, to, plan.Selection{Limit: 20}), outcome{Planned: 20, Moved: 20})
		wantIDs(t, "moved", a.drain(to, 20), count(20))
		kept := a.drain(from, 30)
		wantIDs(t, "kept", kept, count(50)[20:])
		for _, d := range kept {
			must.That(t, !d.Redelivered, "message %s was taken, without need", d.MessageId)
		}
	})
}

func TestDrop(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from := a.filled("failed", kind, numbered(300)...)
		peeked := lookAt(t, c, from, peek.Want{Limit: 300})
		chosen := []message.Message{peeked.Messages[0], peeked.Messages[149], peeked.Messages[299]}
		executed(t, c, dropPlan(t, from, those(chosen), 3), outcome{Planned: 3, Dropped: 3})
		wantIDs(t, "kept", a.drain(from, 297), count(300, 1, 150, 300))

		a.publish(from, numbered(300)...)
		executed(t, c, dropPlan(t, from, plan.Selection{}, 300), outcome{Planned: 300, Dropped: 300})
		a.drain(from, 0)

		executed(t, c, dropPlan(t, from, those(chosen), 3), outcome{Planned: 3, Gone: 3})
	})
}

func TestActionOnAnAutoDeleteQueue(t *testing.T) {
	a, c := besideOthers(t)
	from := a.autoDelete()
	to := a.queue("worker", model.Classic)
	a.publish(from, numbered(30)...)
	executed(t, c, replayTo(t, from, to, plan.Selection{MessageID: "7"}), outcome{Planned: 1, Moved: 1})
	a.wantMoved(from, count(30, 7), to, []string{"7"})
}

func TestUnroutableReplayIsReturned(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from := a.queue("failed", kind)
		to := a.queue("worker", kind)
		// The plan knows a binding of a topic exchange that no longer exists on the broker for the key of every third
		// message.
		exchange := strings.ReplaceAll(t.Name(), "/", ".")
		must.Do(t, a.channel.ExchangeDeclare(exchange, "headers", false, true, false, false, nil))
		must.Do(t, a.channel.QueueBind(to.Name, "", exchange, false, amqp.Table{"x-match": "all", "route": true}))
		const n = 3000
		messages := numbered(n)
		for i := range messages {
			messages[i].Headers["route"] = i%3 != 2
		}

		good, bad := split(n, func(i int) bool { return i%3 != 0 })
		a.publish(from, messages...)
		told := topology([]*model.Queue{from, to}, exchange)
		account := executed(t, c, planned(t, told, viaExchange(from, n, exchange)),
			outcome{Planned: n, Moved: len(good), Returned: len(bad)})
		must.Equal(t, len(account.Problems), plan.MaxProblems, "problems, first %+v", account.Problems[0])
		assert.Equal(t, account.Problems[0].MessageID, "3")
		assert.Equal(t, account.Problems[0].Outcome, plan.Returned)
		a.wantMoved(from, bad, to, good)
	})
}

func TestReplayToAMissingExchange(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from, to := a.moving(kind, numbered(50)...)
		told := topology([]*model.Queue{from, to}, "vanished")
		account := executed(t, c, planned(t, told, viaExchange(from, 50, "vanished")),
			outcome{Planned: 50, Refused: 1, Stopped: true})
		p := account.Problems[0]
		assert.Equal(t, p.MessageID, "1", "%+v", account)
		assert.Contains(t, p.Reason, "vanished")
		assert.Contains(t, account.Stopped, "vanished")
		wantIDs(t, "kept", a.drain(from, 50), count(50))
	})
}

func TestReplayToAFullQueue(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from := a.queue("failed", kind)
		to := a.queue("worker", kind, "x-max-length", int32(20), "x-overflow", "reject-publish")
		const n = 500
		a.publish(from, numbered(n)...)
		account := execute(t, c, replayTo(t, from, to, plan.Selection{}))
		assert.That(t, account.Moved >= 20, "%+v", account)
		assert.Equal(t, account.Moved+account.Refused, n)
		assert.Equal(t, account.Stopped, "")
		moved := ids(a.drain(to, account.Moved))
		kept := ids(a.drain(from, account.Refused))
		assert.That(t, slices.IsSortedFunc(kept, byNumber), "the order of the refused has changed")
		all := append(moved, kept...)
		slices.SortFunc(all, byNumber)
		assert.Same(t, count(n), all)
	})
}

// A nack by one queue says nothing about the other one, which has the message.
func TestReplayToAFullQueueAndAnother(t *testing.T) {
	a, c := besideOthers(t)
	const kind, n = model.Classic, 20
	from := a.queue("failed", kind)
	other := a.queue("other", kind)
	full := a.queue("full", kind, "x-max-length", int32(0), "x-overflow", "reject-publish")
	exchange := t.Name()
	must.Do(t, a.channel.ExchangeDeclare(exchange, "direct", false, true, false, false, nil))

	for _, q := range []*model.Queue{full, other} {
		must.Do(t, a.channel.QueueBind(q.Name, "k", exchange, false, nil))
	}

	a.publish(from, numbered(n)...)
	snapshot := *topology([]*model.Queue{from, full, other}, exchange).Snapshot
	snapshot.Bindings = append(snapshot.Bindings, model.Binding{ // beside the last queue's binding
		VHost: "/", Source: exchange, Destination: full.Name, RoutingKey: "k",
	})
	account := executed(t, c, planned(t, model.NewTopology(&snapshot), viaExchange(from, n, exchange)),
		outcome{Planned: n, Unknown: 1, Stopped: true})
	assert.That(t, !account.Lost, "it would resume by itself, and leave more copies: %+v", account)
	wantIDs(t, "kept", a.drain(from, n), count(n))
	wantIDs(t, "in the other one", a.drain(other, 1), count(1))
}

// A nack by the only target resumes by itself: its node may be unreachable, and there is no other queue for copies.
func TestUnexpectedNackOfTheOnlyTarget(t *testing.T) {
	a, c := besideOthers(t)
	const n = 20
	from := a.filled("failed", model.Classic, numbered(n)...)
	to := a.queue("worker", model.Classic, "x-max-length", int32(0), "x-overflow", "reject-publish")
	before := *to
	before.Arguments = nil
	account := executed(t, c, replayTo(t, from, &before, plan.Selection{}),
		outcome{Planned: n, Unknown: 1, Stopped: true})
	assert.That(t, account.Lost, "%+v", account)
	wantIDs(t, "kept", a.drain(from, n), count(n))
}

// A full classic queue with reject-publish-dlx refuses a publish and dead-letters it. The run ends at the first such
// copy, unless the user agreed to them; the account has them all.
func TestRefusedPublishesLeaveCopies(t *testing.T) {
	a, c := besideOthers(t)
	const kind, n, room = model.Classic, 12, 5
	for _, insist := range []bool{false, true} {
		left := 1
		if insist {
			left = n - room
		}

		from := a.queue("failed", kind)
		aside := a.queue("aside", kind)
		to := a.queue("worker", kind, "x-max-length", int32(room), "x-overflow", "reject-publish-dlx",
			"x-dead-letter-exchange", "", "x-dead-letter-routing-key", aside.Name)
		a.publish(from, numbered(n)...)
		before := *to // the plan knows of more room than there is when it runs
		before.Arguments = maps.Clone(to.Arguments)
		before.Arguments["x-max-length"], before.Ready = int64(n), build.Some(0)
		account := executed(t, c, planned(t, topology([]*model.Queue{from, aside, &before}), plan.ActionWant{
			Operation: plan.Replay, From: from.QueueRef, Planned: n, Mode: target.ToQueue,
			Fixed: model.Address{RoutingKey: to.Name}, User: "guest", Options: plan.Options{Insist: insist, Mark: true},
		}), outcome{Planned: n, Moved: room, Refused: left, Stopped: !insist})

		must.That(t, len(account.Copies) == 1, "%+v", account)
		copies := account.Copies[0]
		assert.Equal(t, copies.By, to.QueueRef, "%+v", copies)
		assert.List(t, copies.In, []model.QueueRef{aside.QueueRef})
		assert.Equal(t, copies.Messages, left)
		assert.That(t, !copies.AtMost, "%+v", copies)
		assert.Contains(t, account.Problems[0].Reason, "left a copy in "+aside.Name)
		wantIDs(t, "copied", a.drain(aside, left), count(n)[room:room+left])
		wantIDs(t, "kept", a.drain(from, n-room), count(n)[room:])
		wantIDs(t, "moved", a.drain(to, room), count(room))

		for _, q := range []*model.Queue{from, to, aside} {
			a.deleteQueue(q.Name)
		}
	}
}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func TestReplayIntoItsOwnQueueEnds(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		const n = 3000
		from := a.filled("q", kind, numbered(n)...)
		want := viaExchange(from, n, "")
		want.Fixed.RoutingKey = from.Name
		made := planned(t, topology([]*model.Queue{from}), want)
		executed(t, c, made, outcome{Planned: n, Moved: n})
		wantIDs(t, "there", a.drain(from, n), count(n))
	})
}

func TestReplayStrips(t *testing.T) {
	a, c := besideOthers(t)
	from, to := a.moving(model.Classic, amqp.Publishing{
		MessageId: "1", Expiration: "600000", UserId: "guest",
		Headers: amqp.Table{"keep": "me", "CC": []any{"nowhere"}, "x-last-death-queue": "q"},
	})

	p := replayTo(t, from, to, plan.Selection{})
	p.User = "somebody else" // so that guest is a foreign user
	executed(t, c, p, outcome{Planned: 1, Moved: 1})
	got := a.drain(to, 1)[0]
	diff := cmp.Diff(amqp.Table{"keep": "me"}, got.Headers)
	assert.NoDiff(t, diff, "%s %q %q", diff, got.Expiration, got.UserId)
	assert.Equal(t, got.Expiration, "")
	assert.Equal(t, got.UserId, "")

	// A user_id for which the broker would close the channel is refused beforehand.
	a.publish(from, amqp.Publishing{MessageId: "1", UserId: "guest"}, amqp.Publishing{MessageId: "2"})
	other := newClient(t, broker.Options{URL: user(t, "other", manage.EveryRight)})
	p = replayTo(t, from, to, plan.Selection{}) // planned for guest
	executed(t, other, p, outcome{Planned: 2, Moved: 1, Refused: 1})
	a.wantMoved(from, []string{"1"}, to, []string{"2"})
}

func TestExecuteErrors(t *testing.T) {
	a, c := besideOthers(t)
	missing := described(build.Ref("no such queue"), model.Classic)
	_, err := c.Execute(t.Context(), dropPlan(t, missing, plan.Selection{}, 1), nil)
	assert.Fails(t, err, "does not exist")
	q := a.queue("q", model.Classic)
	p := dropPlan(t, q, plan.Selection{}, 1)
	p.Refusal = plan.Refusal{plan.NothingLeft{}}
	_, err = c.Execute(t.Context(), p, nil)
	assert.Fails(t, err, "there is nothing to undo")
}

func TestSmallerLooksKeepTheOrder(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		const n = 1000
		q := a.filled("q", kind, numbered(n)...)
		var c *broker.Client
		for _, limits := range [][]int{{400, 50, 50, 10, 300, 1}, {20, 20}} {
			c = client(t) // a client that knows of no earlier look
			c.SetComeback(patience)
			for _, limit := range limits {
				got := messageIDs(lookAt(t, c, q, peek.Want{Limit: limit}).Messages)
				must.Same(t, count(limit), got, "look at %d", limit)
			}
		}

		drop := execute(t, c, dropPlan(t, q, plan.Selection{MessageID: "3"}, 1))
		wantOutcome(t, drop, outcome{Planned: 1, Dropped: 1})
		assert.List(t, messageIDs(lookAt(t, c, q, peek.Want{Limit: 5}).Messages), count(6, 3))
		wantIDs(t, "afterwards", a.drain(q, n-1), count(n, 3))
	})
}

// Only its count shows that a queue without a consumer of ours has got everything back.
func TestQueueThatIsReadByGetGivesBack(t *testing.T) {
	t.Parallel()
	const n = 30
	for came, want := range map[int]outcome{n / 3: {Planned: n, Moved: n}, n: {Planned: n, Unknown: n, Stopped: true}} {
		a, c := newApp(t), client(t)
		from := a.queue(fmt.Sprint("failed", came), model.Classic)
		to := a.queue(fmt.Sprint("worker", came), model.Classic)
		from.SingleActive = true
		a.publish(from, numbered(n)...)
		run := replayTo(t, from, to, plan.Selection{})
		run.Plan.Rate = 100
		again := sync.OnceFunc(func() { a.send("", from.Name, numbered(came)...) })
		wantOutcome(t, must.Get(c.Execute(t.Context(), run, func(now plan.Account) {
			if now.Taken > 0 { // before, it has not counted the queue yet
				again()
			}
		}))(t), want)
	}
}

// movePlan plans to move everything that was peeked.
func movePlan(t *testing.T, sample []message.Message, from *model.Queue, queues ...*model.Queue) plan.Run {
	t.Helper()
	return planned(t, topology(append([]*model.Queue{from}, queues...)), plan.ActionWant{
		Operation: plan.Move, From: from.QueueRef, Selection: those(sample), Sample: message.MessageList(sample),
		Planned: len(sample), Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: queues[0].Name}, User: "guest", Journaled: true,
		Options: plan.Options{Insist: true, Mark: true},
	})
}

// A dead message is moved with its history, and an undo restores it byte for byte.
func TestMoveAndUndo(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		c, j := journaled(t, false)
		from := a.queue("failed", kind)
		to := a.queue("parking", kind)
		source := a.queue("source", model.Classic, "x-message-ttl", int64(1), "x-dead-letter-exchange", "",
			"x-dead-letter-routing-key", from.Name)
		headers := everyType()
		headers["own"] = "kept"
		a.send("", source.Name, amqp.Publishing{
			MessageId: "one", DeliveryMode: 2, UserId: "guest", Expiration: "60000", Headers: headers, Body: []byte("first"),
		})
		a.await(from, 1)
		a.publish(from, amqp.Publishing{
			MessageId: "two", Expiration: "600000", Headers: amqp.Table{"CC": []any{"nowhere"}}, Body: []byte("second"),
		})
		a.await(from, 2)
		before := lookAt(t, c, from, peek.Want{}).Messages

		made := movePlan(t, before, from, to)
		must.That(t, len(made.Keeps) > 1, "keeps %s", made.Keeps)
		assert.List(t, made.Keeps[:2], []string{"x-death", "x-first-death-exchange"})
		account := executed(t, c, made, outcome{Planned: 2, Moved: 2})
		a.await(to, 2)

		moved := lookAt(t, c, to, peek.Want{}).Messages
		for i, m := range moved {
			assert.Equal(t, m.Exchange, "", "moved: %+v", m)
			assert.Equal(t, m.RoutingKey, to.Name, "%v", m)
			assert.Equal(t, m.Properties.Expiration, "", "%v", m)
			assert.That(t, m.Headers["CC"] == nil, "moved: %+v", m)
			assert.That(t, m.Headers[message.ReplayHeader] == nil, "moved: %+v", m)
			assert.Equal(t, string(m.Body), string(before[i].Body), "%v", m)
		}

		must.Equal(t, len(moved[0].Deaths), 1, "its history is %+v (%s)", moved[0].Deaths, moved[0].DeathsError)
		assert.Equal(t, moved[0].Deaths[0].Queue, source.Name)
		assert.Equal(t, moved[0].Deaths[0].Count, 1)

		wantOutcome(t, undo(t, c, j, account.JournalID, from, to), outcome{Planned: 2, Moved: 2})
		a.await(from, 2)
		after := lookAt(t, c, from, peek.Want{}).Messages
		delete(before[1].Headers, "CC") // it cannot be set again without harm

		for i := range before {
			want, got := before[i], after[i]
			if want.Headers = withoutCounters(want.Headers); len(want.Headers) == 0 {
				want.Headers = nil
			}
			got.Headers = withoutCounters(got.Headers)
			diff := cmp.Diff(want.Headers, got.Headers)
			assert.NoDiff(t, diff, "brought back: %s %+v %+v", diff, want.Properties, got.Properties)
			assert.Equal(t, string(want.Body), string(got.Body))
			assert.Equal(t, want.Properties, got.Properties)
		}
	})
}

func withoutCounters(headers model.Table) model.Table {
	delete(headers, "x-delivery-count")
	delete(headers, "x-acquired-count")
	return headers
}

// A queue with a dead-letter exchange gets the message without its history, so that it does not count as a cycle there.
func TestMoveWhereDeathsCount(t *testing.T) {
	a, c := besideOthers(t)
	from := a.queue("failed", model.Classic)
	parking := a.queue("parking", model.Classic)
	to := a.queue("buffer", model.Classic, "x-message-ttl", int64(50), "x-dead-letter-exchange", "",
		"x-dead-letter-routing-key", from.Name)
	a.send("", to.Name, amqp.Publishing{MessageId: "one", Body: []byte("first")})
	a.await(from, 1)

	// Three rounds: with its history a 3.x broker would drop it as a cycle.
	for range 3 {
		sample := lookAt(t, c, from, peek.Want{}).Messages
		made := movePlan(t, sample, from, to)
		must.Equal(t, len(made.Keeps), 0, "keeps %v, strips %v", made.Keeps, made.Strips)
		must.Equal(t, made.Strips[0], "x-death")
		executed(t, c, made, outcome{Planned: 1, Moved: 1})
		a.await(from, 1)
	}

	got := a.drain(from, 1)[0]
	assert.Equal(t, string(got.Body), "first", "%+v", got)
	assert.Equal(t, got.MessageId, "one")
	a.await(parking, 0)
}

// The queue was deleted between plan and execution; nothing is acknowledged.
func TestMoveWhereNothingIs(t *testing.T) {
	a, c := besideOthers(t)
	from, to := a.moving(model.Classic, numbered(3)...)
	made := movePlan(t, lookAt(t, c, from, peek.Want{}).Messages, from, to)
	a.deleteQueue(to.Name)
	executed(t, c, made, outcome{Planned: 3, Returned: 3})
	wantIDs(t, "still there", a.drain(from, 3), count(3))
}

// With a mark; and nothing runs without the topology that its plan was made from.
func TestReplayByAnExpression(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from, to := a.moving(kind, numbered(5)...)
		condition := must.Get(filter.ParseExpression("position > 2"))(t)
		topology := topology([]*model.Queue{from, to})
		p := plan.New(topology, plan.ActionWant{
			Operation: plan.Replay, From: from.QueueRef, Selection: plan.Selection{Filter: condition}, Planned: 3,
			Mode: target.ToQueue, Fixed: model.Address{RoutingKey: to.Name}, User: "guest",
			Options: plan.Options{Mark: true, Insist: true},
			Canary:  time.Second,
		})

		must.That(t, p.Canary != nil, "%+v", p)
		must.That(t, !p.Refusal.Refused(), "%+v", p)
		p.Canary = nil // there are no consumers: a canary would wait
		executed(t, c, p.On(topology), outcome{Planned: 3, Moved: 3})
		wantIDs(t, "moved", a.drain(to, 3), count(5)[2:])
		a.drain(from, 2)

		_, err := c.Execute(t.Context(), p.On(nil), nil)
		assert.That(t, err != nil, "it runs without a topology, so where its messages go is unknown")
	})
}

// Where a target takes nothing a move ends after a while, and what was returned counts as untouched: a resume sends it.
func TestReturnsInARowEndAMove(t *testing.T) {
	const n = 300
	a, c := besideOthers(t)
	from, to := a.moving(model.Classic, numbered(n)...)
	made := movePlan(t, lookAt(t, c, from, peek.Want{Limit: n}).Messages, from, to)
	a.deleteQueue(to.Name)
	account := executed(t, c, made, outcome{Planned: n, Stopped: true})
	assert.That(t, account.Lost, "it ended because of a loss: %+v", account)
	assert.Contains(t, account.Stopped, "no queue took the last 100 messages")
	wantIDs(t, "still there", a.drain(from, n), count(n))
}
