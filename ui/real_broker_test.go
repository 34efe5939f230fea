package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/shared"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// testNode is a real broker. Each test has its own queues on it.
var testNode shared.Node

func TestMain(m *testing.M) {
	_ = os.Setenv("TERM", "xterm-kitty") // a terminal that gets the words of what rings
	os.Exit(testNode.Run(m))
}

// onTheNode returns the node, for a test that runs in parallel with others on it: they mostly wait.
func onTheNode(t *testing.T) *demo.Node {
	t.Helper()
	t.Parallel()
	return testNode.Get(t)
}

// vhosts counts those created by tests.
var vhosts atomic.Int64

// ownVHost creates a vhost for a test. All their names have the width of "story".
func ownVHost(t *testing.T) (node *demo.Node, vhost, at string) {
	t.Helper()
	node = onTheNode(t)
	vhost = manage.VHost(t, node.API(), fmt.Sprintf("vh%03d", vhosts.Add(1)))
	return node, vhost, urlOf(node, vhost)
}

func urlOf(node *demo.Node, vhost string) string {
	return node.AMQP()[:strings.LastIndex(node.AMQP(), "/")+1] + vhost
}

// real returns the program's options on the real broker, and the test's own connection to check what is there.
func real(t *testing.T) (Options, *demo.Node, *amqp.Channel) {
	t.Helper()
	node := onTheNode(t)
	o, channel := optionsOn(t, node, "/", node.AMQP())
	return o, node, channel
}

// optionsOn returns the program's options on a vhost, with a journal, and the test's own connection.
func optionsOn(t *testing.T, node *demo.Node, vhost, at string) (Options, *amqp.Channel) {
	t.Helper()
	kept := journal.New(journal.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	client := must.Get(broker.New(broker.Options{URL: at, Journal: kept, JQ: mend.InProcess{}}))(t)
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), VHost: vhost, Timeout: must.Patience}))(t)
	t.Cleanup(func() { client.Close(); source.Close(); kept.Close() })
	return Options{
		Source: source, Broker: client, Journal: kept, Title: "test", Interval: 200 * time.Millisecond,
	}, dial.Channel(t, at)
}

// deadTo returns the arguments of a queue that dead-letters to another one.
func deadTo(queue string) amqp.Table {
	return amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}
}

// waitingFor returns those of one whose messages go there after a time, in ms.
func waitingFor(ttl int64, queue string) amqp.Table {
	arguments := deadTo(queue)
	arguments["x-message-ttl"] = ttl
	return arguments
}

// waitingThrough returns those of one whose messages go to an exchange, with the keys that they have.
func waitingThrough(ttl int64, exchange string) amqp.Table {
	return amqp.Table{"x-dead-letter-exchange": exchange, "x-message-ttl": ttl}
}

// many are n messages.
func many(n int, one func(i int) amqp.Publishing) []amqp.Publishing {
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = one(i)
	}
	return messages
}

// holds waits until a queue has this many ready messages: a look returns what it held shortly after it has ended.
func holds(t *testing.T, channel *amqp.Channel, queue string, n int) {
	t.Helper()
	must.Await(t, fmt.Sprintf("%s holds %d", queue, n), func() bool { return depth.Of(t, channel, queue) == n })
}

// take takes the first message of a queue, and acknowledges it if it is done with.
func take(t *testing.T, channel *amqp.Channel, queue string, done bool) amqp.Delivery {
	t.Helper()
	d, ok, err := channel.Get(queue, done)
	must.Do(t, err)
	must.That(t, ok, "a message of %s: %t, %v", queue, ok, err)
	return d
}

// works consumes a queue of a vhost, as an application does, until it is ended or the test ends.
func works(t *testing.T, o Options, queue string, handle func(d amqp.Delivery)) (end func()) {
	t.Helper()
	return dial.Work(t, urlOf(testNode.Get(t), o.VHost), queue, 0, handle)
}

func acknowledge(d amqp.Delivery) { _ = d.Ack(false) }
func reject(d amqp.Delivery)      { _ = d.Reject(false) }

// The main story of the program: see the failed messages of one service, press r, and that service gets exactly this
// message.
func TestReplayOnARealBroker(t *testing.T) {
	o, node, channel := real(t)
	scenario := must.Get(demo.ScenarioNamed("pubsub"))(t)
	must.Do(t, scenario.Declare(t.Context(), node.AMQP()))
	failed := depth.Of(t, channel, failedQueue)
	must.That(t, failed >= 3, "the scenario seeds %d failed messages", failed)
	term := o.onFlow(t, "ucenter@user").await("ucenter@user@retry", fmt.Sprintf("%d ready", failed))
	term.press("f")
	deaths := "expired" // once, by the broker's count

	if model.BehaviourOf(model.ParseVersion(node.Version())).CountsRepublishedDeaths {
		deaths = "expired ×3"
	}

	term.await(fmt.Sprintf("%d messages", failed), deaths, "user.created").press(keyDown).awaitRow(" 2 ")
	term.press("r").await("through master, key ucenter@user", "reaches   ucenter@user", "strips", "#2, id ")
	dialog := term.screen()
	id, _, _ := strings.Cut(dialog[strings.Index(dialog, "#2, id ")+len("#2, id "):], " ")
	term.agree("replay", "1 message moved to ucenter@user")
	term.press(keyEnter).await(fmt.Sprintf("%d messages", failed-1))

	for name, want := range map[string]int{
		failedQueue: failed - 1, "ucenter@user": 1, "ucenter@user@retry": 0, "ucenter@enterprise": 0, "user-monitor": 0,
	} {
		holds(t, channel, name, want)
	}

	d := take(t, channel, "ucenter@user", true)
	assert.Equal(t, d.MessageId, id, "replayed %q, want %q: %+v", d.MessageId, id, d)
	assert.Equal(t, d.Exchange, "master")
	assert.Equal(t, d.RoutingKey, "ucenter@user")
	assert.Equal(t, d.DeliveryMode, amqp.Persistent)
	assert.Equal(t, d.Expiration, "")
	for name := range d.Headers {
		assert.That(t, !strings.HasPrefix(name, "x-death"), "the header %s was not taken off", name)
		assert.That(t, !strings.HasPrefix(name, "x-first-death"), "the header %s was not taken off", name)
		assert.That(t, !strings.HasPrefix(name, "x-last-death"), "the header %s was not taken off", name)
	}

	assert.That(t, d.Headers["x-orig-routing-key"] == "user.created", "something else changed: %+v", d)
	assert.That(t, len(d.Body) > 0, "something else changed: %+v", d)
	assert.Equal(t, d.ContentType, "application/json")
}

func TestDropOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	o.Journal = nil
	dial.Queue(t, channel, "ui.drop", nil)
	dial.Publish(t, channel, "ui.drop", many(6, func(i int) amqp.Publishing {
		return amqp.Publishing{MessageId: fmt.Sprintf("drop-%d", i), Body: []byte("a body")}
	})...)
	term := o.onQueue(t, "ui.drop", 80, 24).await("6 messages").press(" ", keyDown, " ").await("2 selected")
	term.press("d").await("Drop 2 messages", "there is no undo").agree("drop", "2 messages dropped")
	term.press(keyEnter).await("4 messages")
	holds(t, channel, "ui.drop", 4)

	var left []string
	for _, d := range dial.Drain(t, channel, "ui.drop") {
		left = append(left, d.MessageId)
	}

	assert.Equal(t, strings.Join(left, " "), "drop-1 drop-3 drop-4 drop-5", "left in the queue")
}

func TestStopOnARealBrokerLosesNothing(t *testing.T) {
	o, _, channel := real(t)
	const n = 7000
	dial.Queue(t, channel, "ui.stop", nil)
	dial.Queue(t, channel, "ui.stop.retry", waitingFor(600_000, "ui.stop"))
	dial.Queue(t, channel, "ui.stop.failed", nil)
	dial.Publish(t, channel, "ui.stop.failed", many(n, func(i int) amqp.Publishing {
		return amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte(strings.Repeat("x", 1000))}
	})...)
	term := o.onQueue(t, "ui.stop.failed").await("500 of 7,000 read")
	term.press("M").await("5,000 of 7,000 read").press("R").await("Replay 5,000 messages", "reaches   ui.stop")
	term.press("o", "5,000").await("spread over 5m") // so that it is not over before it is stopped
	term.agree("replay", "Replaying 5,000 messages").awaitThat("some have arrived", func(string) bool {
		return depth.Of(t, channel, "ui.stop") > 0
	})

	term.press(keyEsc).await("What happened")
	var here, there int
	term.awaitThat("what was released is back, and none is lost", func(string) bool {
		here, there = depth.Of(t, channel, "ui.stop.failed"), depth.Of(t, channel, "ui.stop")
		return here+there >= n
	})

	account := must.Get(o.Journal.Record(t.Context(), 1))(t).Account // on a busy machine some outcomes are unknown
	assert.That(t, here+there <= n+account.Unknown, "%d and %d messages, by the account %+v", here, there, account)
	assert.That(t, there >= account.Moved, "%d messages arrived, by the account %+v", there, account)
	assert.That(t, there <= account.Moved+account.Unknown, "%d messages arrived, by the account %+v", there, account)
	assert.Contains(t, term.screen(), fmt.Sprint(account.Moved, " of 5,000 messages moved"))
}

// agree presses enter until a text is there: statistics of new queues come late, and change the displayed plan.
func (term *terminal) agree(to, text string) *terminal {
	term.t.Helper()
	return term.answer(text, "enter "+to+" ", keyEnter)
}

// answer waits for a text, and meanwhile presses the key for each question on the screen: once a second, when the
// previous key has been handled and drawn.
func (term *terminal) answer(text string, questions ...string) *terminal {
	term.t.Helper()
	var pressed time.Time

	return term.awaitThat("there is "+text, func(screen string) bool {
		for i := 0; i < len(questions) && !strings.Contains(screen, text); i += 2 {
			if strings.Contains(screen, questions[i]) && time.Since(pressed) > time.Second {
				pressed = time.Now()
				term.press(questions[i+1]).settle()
				return false
			}
		}
		return strings.Contains(screen, text)
	})
}

func TestHostileMessagesOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	dial.Queue(t, channel, "ui.hostile", nil)
	dial.Publish(t, channel, "ui.hostile",
		amqp.Publishing{
			MessageId: "huge", ContentType: "application/json",
			Body: []byte(`["` + strings.Repeat("x", 10<<20) + `"]`),
		},
		amqp.Publishing{
			MessageId: hostile, Body: []byte(hostile),
			Headers: amqp.Table{"x-death": "none", "x-error": hostile, "h": amqp.Table{"n": []any{int64(1), hostile}}},
		},
		amqp.Publishing{MessageId: "binary", Body: []byte{0, 1, 2, 0xff, 0xfe, 0x1b, '[', '2', 'J'}},
	)

	term := o.onQueue(t, "ui.hostile").answer("3 messages", "M reads the rest", "M").await("10M")
	term.press(keyEnter, "G").await("▸ Body").press("q").await("3 messages")
	term.press(keyDown).await("malformed", "x-death").press(keyDown, keyEnter).await("message 3 of 3", "1b 5b 32")
	assert.That(t, strings.HasPrefix(term.screen(), " dlxtop"), "a message moved the screen:\n%s", term.screen())
	holds(t, channel, "ui.hostile", 3)
}

// A real broker goes away while two dashboards show it, and comes back: one polls often, without AMQP; the other polls
// seldom, as for a slow broker: it knows from AMQP at once that it is gone, and from the next poll that it is back.
func TestRealBrokerIsShownLostAndShownAgain(t *testing.T) {
	size.Long(t)
	t.Parallel()
	node := must.Get(demo.Start(t.Context(), demo.Options{}))(t)
	t.Cleanup(func() {
		assert.Succeeds(t, node.Stop())
	})
	scenario := must.Get(demo.ScenarioNamed("pubsub"))(t)
	must.Do(t, scenario.Declare(t.Context(), node.AMQP()))
	client := must.Get(broker.New(broker.Options{URL: node.AMQP()}))(t)
	defer client.Close()
	must.Do(t, client.Check(t.Context(), "/"))
	often := Options{Source: polled(t, node), Title: "real", Interval: 200 * time.Millisecond}.open(t)
	seldom := Options{Source: polled(t, node), Broker: client, Title: "real", Interval: 10 * time.Minute}.open(t)
	often.await(node.Version(), "ucenter@enterprise", "ucenter@user", "user-monitor", "retry 30s", "none !")
	often.press("/", "ucenter@user", keyEnter).await("ucenter@user@failed", "TTL 30s (argument) → master")

	for range 2 { // the second time on a connection that was remade
		seldom.await("live 10m")
		must.Do(t, node.Halt())
		often.await("! lost", "stale: this is how it was at", "ucenter@user@failed")
		seldom.await("! lost", "stale: this is how it was at")
		assert.That(t, !strings.Contains(seldom.screen(), "live"), "it says live of a broker that is gone:\n%s",
			seldom.screen())
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		err := node.Resume(ctx)
		cancel()
		must.Do(t, err)

		// A broker that has just started may answer too late for "live".
		often.awaitThat("the broker is shown again", func(screen string) bool {
			return strings.Contains(screen, "ucenter@user@failed") && !strings.Contains(screen, "lost") &&
				!strings.Contains(screen, "stale")
		})

		seldom.await("live 10m")

		seldom.awaitThat("AMQP is there again, too", func(string) bool {
			connections, err := node.Control(t.Context(), "list_connections", "client_properties")
			return err == nil && strings.Contains(connections, "dlxtop")
		})
	}
}

// polled returns the management API of a node, with little patience.
func polled(t *testing.T, node *demo.Node) *mgmt.Client {
	t.Helper()
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), Timeout: 5 * time.Second}))(t)
	t.Cleanup(source.Close)
	return source
}

// The header shows the age of the data: a poll that hangs brings nothing new, and a slow one brought old data.
func TestTheAgeOfThePicture(t *testing.T) {
	c := newClock()
	source := &hanging{recorded: recorded{snapshot: busyBroker()}, turn: make(chan struct{})}
	o := lively(source, c)
	term := o.open(t, 80, 24)
	source.turn <- struct{}{}
	term.await("ucenter@user") // its age depends on how long the poll took
	c.advance(9 * time.Minute) // the second poll hangs
	term.await("slow, 9m")
	source.turn <- struct{}{}
	term.awaitGone("slow")
}

// hanging is a source that answers when its test lets it.
type hanging struct {
	recorded
	turn chan struct{}
}

func (h *hanging) Snapshot(ctx context.Context) (*model.Snapshot, error) {
	select {
	case <-h.turn:
		return h.recorded.Snapshot(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The result of a poll that took 6 s is 6 s old, and the next one comes 54 s later: that is never "live".
func TestASlowPollIsNotLive(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), lively(&recorded{snapshot: busyBroker()}, c))
	for _, step := range []struct {
		took  time.Duration // of a poll that has just ended; 0: none has
		after time.Duration
		says  string
	}{
		{5 * time.Millisecond, 0, "live 10ms"}, // a pause that is longer by an invisible amount
		{6 * time.Second, 0, "6s old, every 15s"},
		{0, 20 * time.Second, "26s old, every 15s"},
		{0, 11 * time.Second, "slow, 37s old"},
	} {
		if step.took > 0 {
			a.pollTook(step.took)
		}
		c.advance(step.after)
		a.Shown = c.now()
		assert.Equal(t, ansi.Strip(a.freshness()), step.says, "it")
	}
}

// pollTook applies a poll that has just ended.
func (a *app) pollTook(took time.Duration) {
	a.poller.inFlight = a.NewRequest()
	poll := polls.Poll{Topology: model.NewTopology(busyBroker())}
	a.poller.answered(polledMsg{request: a.poller.inFlight, took: took, poll: poll})
}

// A slow broker is polled seldom, but soon after an action.
func TestWhatWasDoneIsSeenSoon(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), lively(&recorded{snapshot: busyBroker()}, c))
	a.Styles = mono
	answer := func() { a.pollTook(6 * time.Second) }
	acted := func() {
		next, _ := a.Update(shell.AnswerMsg{Msg: shell.EndedMsg[plan.Account]{}})
		a = next.(app)
	}

	wantNext := func(want time.Duration) {
		t.Helper()
		assert.Equal(t, a.poller.next.Sub(c.now()), want, "the next poll comes in")
	}

	answer()
	wantNext(slowestPoll)
	acted()
	wantNext(model.LateStatistics)
	c.advance(2 * time.Second)
	answer() // to a poll that was made meanwhile: it may be incomplete
	wantNext(model.LateStatistics - 2*time.Second)
	c.advance(model.LateStatistics)
	answer()
	wantNext(slowestPoll)
	c.advance(slowestPoll - 2*time.Second)
	acted()
	wantNext(2 * time.Second)
}

// The account continues after a replay, and the Journal has the same line later, whether the dialog stays open or not:
// a message that fails again waits in its retry buffer before it is back.
func TestReplayIsFollowedToItsEnd(t *testing.T) {
	o, node, channel := real(t)
	const worker, failed = "ui.followed", "ui.followed.failed"
	dial.Queue(t, channel, failed, nil)
	dial.Queue(t, channel, worker, deadTo("ui.followed.retry"))
	dial.Queue(t, channel, "ui.followed.retry", waitingFor(2000, worker))
	dial.Publish(t, channel, failed, amqp.Publishing{MessageId: "bad"}, amqp.Publishing{MessageId: "good"})

	dial.Work(t, node.AMQP(), worker, 0, func(d amqp.Delivery) {
		switch _, tried := d.Headers["x-death"]; {
		case d.MessageId == "good":
			acknowledge(d)
		case tried:
			_ = channel.PublishWithContext(t.Context(), "", failed, false, false,
				amqp.Publishing{MessageId: d.MessageId, Headers: d.Headers})
			acknowledge(d)
		default:
			reject(d)
		}
	})

	term := o.onQueue(t, failed).await("2 messages").press("R").agree("replay", "What happened")
	term.await("after     all taken", "none came back, up to 1 waiting for a retry")
	term.await("after     all taken", "1 came back").press(keyEnter).awaitGone("What happened")
	term.press("5").await("2 moved; 1 came back", "after     all taken, 1 came back")
}

// The remaining watch counts down, and messages that came back are reported on every screen.
func TestEndOfASequelIsShown(t *testing.T) {
	o, b, c := failedOptions(47)
	b.execute = ends(func(a *plan.Account) { a.Moved, a.Mark = 47, "M" })
	over := make(chan struct{})
	b.follow = func(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error) {
		s := plan.Sequel{Sent: 47, Taken: 40, Acked: build.Some(38), Watch: f.Watch, Until: c.now().Add(f.Watch)}
		progress(s)
		select {
		case <-over:
		case <-ctx.Done():
			return s, nil
		}

		s.Taken = 47
		s.Back = 2
		s.Over = true
		progress(s)
		return s, nil
	}

	term := o.onFailed(t).press("R").agree("replay", "What happened")
	term.await("40 of 47 taken, 38 of 47 acknowledged, none came back, 7 still waiting;", "watched until 1m39s after all")
	term.golden().press(keyEnter, "1").await("DUE")
	term.press("q").await("not quit: the replay of "+failedQueue+" is still watched", "q again quits")
	term.press("j").awaitGone("q again quits").press("q").await("q again quits")
	close(over)
	term.await("the replay of " + failedQueue + ": all taken, 38 of 47 acknowledged, 2 came back within 1m39s")
	term.press("q").awaitEnd() // nothing is watched any more
}

// A queue that is there again, as after a restart of its node, ends the refusal, without a key.
func TestRefusedResumeIsOfferedWhenItsQueueIsBack(t *testing.T) {
	o, _, channel := real(t)
	const queue = "ui.back"
	j := o.Journal.(*journal.Journal)
	must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Drop, From: ref(queue), Broker: o.Broker.Address(), Planned: 2,
		Intent: &plan.Intent{Source: ref(queue)},
	}))(t)
	must.Do(t, j.Close()) // like the end of its program
	term := o.open(t).press("5").await("r resume this").press("r").await("there is no queue " + queue + " here any more")
	dial.Queue(t, channel, queue, nil)
	term.await("enter go on")
}

// TestNewFlowsAreCounted: statistics of new quorum queues are late, and no poll comes after the first one here.
func TestNewFlowsAreCounted(t *testing.T) {
	node, vhost, at := ownVHost(t)
	o, channel := optionsOn(t, node, vhost, at)
	o.Interval = time.Hour
	for worker, n := range map[string]int{"a": 3, "b": 5} {
		quorum := amqp.Table{"x-queue-type": "quorum"}
		dial.Queue(t, channel, worker+".failed", quorum)
		quorum["x-dead-letter-exchange"], quorum["x-dead-letter-routing-key"] = "", worker+".failed"
		dial.Queue(t, channel, worker, quorum)
		dial.Publish(t, channel, worker+".failed", many(n, func(int) amqp.Publishing { return amqp.Publishing{} })...)
	}

	o.open(t).await("Failed 8")
}
