package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// node is the broker for all tests in this package; each test has its own queues on it.
var node *demo.Node

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if text := os.Getenv(jobVariable); text != "" {
		return workOn(text)
	}
	var err error
	if node, err = demo.Start(context.Background(), demo.Options{Plugins: []string{"rabbitmq_shovel"}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	defer node.Stop()
	defer func() {
		if rough.Node != nil {
			rough.Stop()
		}
	}()

	fmt.Fprintln(os.Stderr, "RabbitMQ", node.Version())

	return m.Run()
}

// patience bounds every wait of a test: on a machine with four times too much to do, a flood takes a minute.
const patience = 2 * time.Minute

func behaviour() model.Behaviour { return model.BehaviourOf(model.ParseVersion(node.Version())) }

func client(t testing.TB) *broker.Client {
	t.Helper()
	return clientOf(t, node)
}

func clientOf(t testing.TB, n *demo.Node) *broker.Client {
	t.Helper()
	return newClient(t, broker.Options{URL: n.AMQP()})
}

// newClient returns a client that is closed at the test's end. By default it may take as long to connect as any other
// wait.
func newClient(t testing.TB, o broker.Options) *broker.Client {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	c := must.Get(broker.New(o))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// app is an application on the broker that acts as publisher and reader, and checks what is there, without the code
// under test.
type app struct {
	testing.TB
	connection *amqp.Connection
	channel    *amqp.Channel // in confirm mode
}

func newApp(t testing.TB) *app {
	t.Helper()
	return newAppOn(t, node)
}

func newAppOn(t testing.TB, n *demo.Node) *app {
	t.Helper()
	connection := must.Get(dial.AMQP(n.AMQP()))(t)
	t.Cleanup(func() { connection.Close() })
	a := &app{TB: t, connection: connection}
	a.channel = a.open()
	must.Do(t, a.channel.Confirm(false))
	return a
}

func (a *app) open() *amqp.Channel {
	a.Helper()
	return must.Get(a.connection.Channel())(a)
}

// queue declares a durable queue of a type with some arguments, named after the test, and deletes it afterwards.
func (a *app) queue(suffix string, kind model.QueueType, arguments ...any) *model.Queue {
	a.Helper()
	q := described(build.Ref(strings.ReplaceAll(a.Name(), "/", ".")+"."+suffix), kind)
	table := amqp.Table{"x-queue-type": string(kind)}
	for pair := range slices.Chunk(arguments, 2) {
		q.Arguments[pair[0].(string)], table[pair[0].(string)] = pair[1], pair[1]
	}

	must.Get(a.channel.QueueDeclare(q.Name, true, false, false, false, table))(a)
	a.Cleanup(func() { a.deleteQueue(q.Name) })
	return q
}

// filled returns a queue with messages.
func (a *app) filled(suffix string, kind model.QueueType, messages ...amqp.Publishing) *model.Queue {
	a.Helper()
	q := a.queue(suffix, kind)
	a.publish(q, messages...)
	return q
}

// moving returns a failed queue with messages, and the queue of the worker that they go to.
func (a *app) moving(kind model.QueueType, messages ...amqp.Publishing) (from, to *model.Queue) {
	a.Helper()
	return a.filled("failed", kind, messages...), a.queue("worker", kind)
}

func (a *app) deleteQueue(name string) {
	channel, err := a.connection.Channel()
	if err != nil {
		return // the broker was shut down
	}
	defer channel.Close()
	if _, err := channel.QueueDelete(name, false, false, false); err != nil {
		a.Logf("delete %s: %v", name, err)
	}
}

// publish publishes messages to a queue and waits for their confirms and until they are ready.
func (a *app) publish(queue *model.Queue, messages ...amqp.Publishing) {
	a.Helper()
	before := a.ready(queue)
	a.send("", queue.Name, messages...)
	a.await(queue, before+len(messages))
}

func (a *app) send(exchange, key string, messages ...amqp.Publishing) {
	a.Helper()
	confirms := make([]*amqp.DeferredConfirmation, len(messages))
	var err error
	for i, m := range messages {
		if i >= 500 {
			a.confirmed(confirms[i-500])
		}
		confirms[i], err = a.channel.PublishWithDeferredConfirm(exchange, key, false, false, m)
		must.Do(a, err)
	}

	for _, c := range confirms[max(0, len(confirms)-500):] {
		a.confirmed(c)
	}
}

func (a *app) confirmed(c *amqp.DeferredConfirmation) {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ok := must.Get(c.WaitContext(ctx))(a)
	must.That(a, ok, "not confirmed")
}

func (a *app) ready(queue *model.Queue) int {
	a.Helper()
	channel := a.open()
	defer channel.Close()
	return depth.Of(a, channel, queue.Name)
}

// await waits until this many messages are ready.
func (a *app) await(queue *model.Queue, n int) {
	a.Helper()
	a.until(func() error {
		if ready := a.ready(queue); ready != n {
			return fmt.Errorf("%s: %d ready, want %d", queue.QueueRef, ready, n)
		}
		return nil
	})
}

// until waits until try returns no error.
func (a *app) until(try func() error) {
	a.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		must.That(a, !time.Now().After(deadline), "%v", err)
		time.Sleep(10 * time.Millisecond)
	}
}

// drain takes n messages out of a queue, and proves that there are no more.
func (a *app) drain(queue *model.Queue, n int) []amqp.Delivery {
	a.Helper()
	a.await(queue, n)
	channel := a.open()
	defer channel.Close()

	got := a.consume(channel, queue, n)
	for _, d := range got[n:] {
		a.Errorf("%s: one more message: %s", queue.QueueRef, d.MessageId)
	}
	if n > 0 {
		must.Do(a, channel.Ack(got[n-1].DeliveryTag, true))
	}

	return got
}

// consume takes n messages, and any more that have come until then, and leaves them with the channel.
func (a *app) consume(channel *amqp.Channel, queue *model.Queue, n int) (got []amqp.Delivery) {
	a.Helper()
	must.Do(a, channel.Qos(n+1, 0, false))
	deliveries := must.Get(channel.Consume(queue.Name, "drain", false, false, false, false, nil))(a)
	timeout := time.After(patience)
	for len(got) < n {
		select {
		case d := <-deliveries:
			got = append(got, d)
		case <-timeout:
			a.Fatalf("%s: %d of %d messages came", queue.QueueRef, len(got), n)
		}
	}

	must.Do(a, channel.Cancel("drain", false))
	for d := range deliveries {
		got = append(got, d)
	}

	return got
}

// consumer returns a channel of its own on which up to prefetch messages are delivered.
func (a *app) consumer(queue *model.Queue, prefetch int) (*amqp.Channel, <-chan amqp.Delivery) {
	a.Helper()
	channel := a.open()
	must.Do(a, channel.Qos(prefetch, 0, false))
	return channel, must.Get(channel.Consume(queue.Name, "", false, false, false, false, nil))(a)
}

// numbered are n messages with the ids 1 to n.
func numbered(n int) []amqp.Publishing {
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = amqp.Publishing{
			MessageId: strconv.Itoa(i + 1), DeliveryMode: amqp.Persistent, ContentType: "text/plain",
			Headers: amqp.Table{"number": int64(i + 1)}, Body: fmt.Appendf(nil, "body of %d", i+1),
		}
	}

	return messages
}

// sized are numbered messages with bodies of this many bytes.
func sized(n, bytes int) []amqp.Publishing {
	messages := numbered(n)
	for i := range messages {
		messages[i].Body = make([]byte, bytes)
	}
	return messages
}

// byID counts messages by id.
func byID(deliveries []amqp.Delivery) map[string]int {
	found := map[string]int{}
	for _, d := range deliveries {
		found[d.MessageId]++
	}
	return found
}

func ids(deliveries []amqp.Delivery) []string {
	all := make([]string, len(deliveries))
	for i, d := range deliveries {
		all[i] = d.MessageId
	}
	return all
}

func messageIDs(messages []message.Message) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.Properties.MessageID
	}
	return all
}

// count returns "1" to "n", without some.
func count(n int, without ...int) []string {
	_, others := split(n, func(i int) bool { return slices.Contains(without, i) })
	return others
}

// split returns "1" to "n": those whose number holds, and the others.
func split(n int, holds func(i int) bool) (those, others []string) {
	for i := 1; i <= n; i++ {
		if id := strconv.Itoa(i); holds(i) {
			those = append(those, id)
		} else {
			others = append(others, id)
		}
	}

	return those, others
}

// wantOnce wants each of n messages once.
func wantOnce(t testing.TB, deliveries []amqp.Delivery, n int) {
	t.Helper()
	got := byID(deliveries)
	for _, id := range count(n) {
		if got[id] != 1 {
			t.Errorf("%s is there %d times", id, got[id])
			return
		}
	}
}

// described returns a queue as the management API would report it.
func described(ref model.QueueRef, kind model.QueueType) *model.Queue {
	return &model.Queue{
		QueueRef: ref, Type: kind, Durable: true, Consumers: build.Some(0), Arguments: model.Table{},
	}
}

// lookAt plans a peek, and makes it.
func lookAt(t testing.TB, c *broker.Client, q *model.Queue, want peek.Want) looked {
	t.Helper()
	return peekAt(t, c, planPeek(q, want))
}

func planPeek(q *model.Queue, want peek.Want) peek.Plan {
	return peek.OfQueue(q, model.Settings{}, behaviour(), want)
}

// looked is a peek with its messages in memory.
type looked struct {
	peek.Peeked
	Messages []message.Message
}

func peekAt(t testing.TB, c *broker.Client, p peek.Plan) looked {
	t.Helper()
	peeked, err := c.Peek(t.Context(), p)
	for deadline := time.Now().Add(patience); errors.Is(err, model.ErrQueueSilent) && time.Now().Before(deadline); {
		peeked, err = c.Peek(t.Context(), p) // as the error says: the broker is very busy
	}

	must.Do(t, err)
	defer peeked.Messages.Close()
	all := make([]message.Message, peeked.Messages.Len())
	for i := range all {
		all[i], err = peeked.Messages.At(i, 0)
		must.Do(t, err)
	}

	return looked{peeked, all}
}

// kinds are the queue types that messages can be taken from.
var kinds = []model.QueueType{model.Classic, model.Quorum}

// forEachKind runs a test with each of them in parallel, and beside other tests.
func forEachKind(t *testing.T, test func(t *testing.T, kind model.QueueType)) {
	t.Parallel()
	sideBySide(t, test)
}

// onEachKind is forEachKind for a test with one application and one client.
func onEachKind(t *testing.T, test func(t *testing.T, kind model.QueueType, a *app, c *broker.Client)) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) { test(t, kind, newApp(t), client(t)) })
}

func sideBySide(t *testing.T, test func(t *testing.T, kind model.QueueType)) {
	forEachKindAlone(t, func(t *testing.T, kind model.QueueType) {
		t.Parallel()
		test(t, kind)
	})
}

// besideOthers runs a test with one application and one client beside other tests.
func besideOthers(t *testing.T) (*app, *broker.Client) {
	t.Helper()
	t.Parallel()
	return newApp(t), client(t)
}

// forEachKindAlone is for tests that examine the whole process: its goroutines, its files.
func forEachKindAlone(t *testing.T, test func(t *testing.T, kind model.QueueType)) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// topology has some queues, and exchanges that are bound to the last of them with the key "k".
func topology(queues []*model.Queue, exchanges ...string) *model.Topology {
	return topologyOf(node.Version(), queues, exchanges...)
}

func topologyOf(version string, queues []*model.Queue, exchanges ...string) *model.Topology {
	s := build.Broker(version)
	for _, q := range queues {
		s.Queues = append(s.Queues, *q)
	}

	for _, name := range exchanges {
		build.Exchange("direct", name)(s)
		build.Bind(name, "k", queues[len(queues)-1].Name)(s)
	}

	return model.NewTopology(s)
}

// replayTo plans a replay of a selection into a queue, through the default exchange.
func replayTo(t testing.TB, from, to *model.Queue, selection plan.Selection, sample ...message.Message) plan.Run {
	t.Helper()
	return planned(t, topology([]*model.Queue{from, to}), plan.ActionWant{
		Operation: plan.Replay, From: from.QueueRef, Selection: selection, Sample: message.MessageList(sample),
		Planned: len(sample), Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: to.Name}, User: "guest", Options: plan.Options{Insist: true, Doubles: true},
	})
}

// viaExchange wants to replay n messages through an exchange, with the key "k".
func viaExchange(from *model.Queue, n int, exchange string) plan.ActionWant {
	return plan.ActionWant{
		Operation: plan.Replay, From: from.QueueRef, Planned: n, Mode: target.ToExchange,
		Fixed: model.Address{Exchange: exchange, RoutingKey: "k"}, User: "guest", Options: plan.Options{Insist: true},
	}
}

func planned(t testing.TB, topology *model.Topology, want plan.ActionWant) plan.Run {
	t.Helper()
	p := plan.New(topology, want)
	must.Equal(t, p.Refusal.Words(), "")
	return p.On(topology)
}

func dropPlan(t testing.TB, from *model.Queue, selection plan.Selection, n int) plan.Run {
	t.Helper()
	return planned(t, topology([]*model.Queue{from}), plan.ActionWant{
		Operation: plan.Drop, From: from.QueueRef, Selection: selection, Planned: n, Options: plan.Options{Insist: true},
	})
}

// execute runs a plan; an error is fatal.
func execute(t testing.TB, c *broker.Client, run plan.Run) plan.Account {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	return must.Get(c.Execute(ctx, run, nil))(t)
}

// executed is execute, and wants an outcome.
func executed(t testing.TB, c *broker.Client, run plan.Run, want outcome) plan.Account {
	t.Helper()
	account := execute(t, c, run)
	wantOutcome(t, account, want)
	return account
}

// outcome is the comparable part of an account.
type outcome struct {
	Planned, Moved, Dropped, Refused, Returned, Unknown, Gone int
	Stopped                                                   bool
}

func wantOutcome(t testing.TB, a plan.Account, want outcome) {
	t.Helper()
	got := outcome{a.Planned, a.Moved, a.Dropped, a.Refused, a.Returned, a.Unknown, a.Gone, a.Stopped != ""}
	diff := cmp.Diff(want, got)
	assert.That(t, diff == "", "%s\nstopped: %s\nproblems: %v", diff, a.Stopped, a.Problems)
}

// wantMoved takes everything out of two queues, and wants these messages there, in order.
func (a *app) wantMoved(from *model.Queue, kept []string, to *model.Queue, moved []string) {
	a.Helper()
	wantIDs(a, "moved", a.drain(to, len(moved)), moved)
	wantIDs(a, "kept", a.drain(from, len(kept)), kept)
}

func wantIDs(t testing.TB, what string, got []amqp.Delivery, want []string) {
	t.Helper()
	ids := ids(got)
	assert.That(t, slices.Equal(ids, want), "%s: %s", what, cmp.Diff(want, ids))
}

func those(messages []message.Message) plan.Selection {
	s := plan.Nobody()
	for i := range messages {
		s.Fingerprints[messages[i].Fingerprint]++
	}
	return s
}
