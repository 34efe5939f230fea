package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// recordedBroker returns what it was given: messages by queue, and the outcome of a plan.
type recordedBroker struct {
	lock
	messages map[model.QueueRef][]message.Message
	err      error
	down     model.QueueRef // cannot be read
	clock    *clock
	peeks    []peek.Plan
	plans    []plan.Run
	tap      func(ctx context.Context, see func(*message.Message, time.Time), tell func(trace.TapCounts)) error
	count    func(refs []model.QueueRef) (model.CountsByQueue, error) // nil: nothing is counted
	held     model.QueueSet
	looked   model.LookedByQueue
	// by looks that fail
	rescued    peek.Rescued
	unreadable error // from reading whole queues
	// nil: everything succeeds
	execute func(ctx context.Context, plan plan.Run, progress plan.Progress) (plan.Account, error)
	follow  func(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error)
}

func newRecordedBroker(c *clock) *recordedBroker {
	return &recordedBroker{messages: map[model.QueueRef][]message.Message{}, clock: c}
}

// Lost never returns a loss.
func (b *recordedBroker) Lost(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (*recordedBroker) Begin(context.Context, *plan.Run, int64) error { return nil }

func (*recordedBroker) End(*plan.Run, string) {}

func (b *recordedBroker) User() string {
	outsideView("the broker")
	return "guest"
}

func (b *recordedBroker) MayWrite(context.Context, model.ExchangeRef) (bool, error) {
	outsideView("the broker")
	return true, nil
}

func (b *recordedBroker) Count(_ context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	outsideView("the broker")
	b.Lock()
	defer b.Unlock()
	if b.count == nil {
		return nil, nil
	}
	return b.count(refs)
}

func (b *recordedBroker) Held(time.Time) model.QueueSet {
	outsideView("the broker")
	return under(b, func() model.QueueSet { return b.held })
}

func (b *recordedBroker) Looked(context.Context, string) (model.LookedByQueue, error) {
	outsideView("the disk")
	return under(b, func() model.LookedByQueue { return b.looked }), nil
}

func (b *recordedBroker) Node() string { return "" }

func (b *recordedBroker) Several() bool { return false }

func (b *recordedBroker) Address() string {
	outsideView("the broker")
	return "mq1:5672"
}

func (b *recordedBroker) Read(_ context.Context, plan peek.Plan, each message.Visit) (peek.Read, error) {
	b.Lock()
	defer b.Unlock()
	if b.unreadable != nil {
		return peek.Read{}, b.unreadable
	}
	for _, m := range b.messages[plan.Queue] {
		if err := each(&m); err != nil {
			return peek.Read{}, err
		}
	}

	return peek.Read{}, nil
}

// Follow returns the test's sequel, or that all went well.
func (b *recordedBroker) Follow(
	ctx context.Context, f plan.Following, progress func(plan.Sequel),
) (plan.Sequel, error) {
	if b.follow != nil {
		return b.follow(ctx, f, progress)
	}
	return plan.Sequel{Sent: f.Sent, Taken: f.Sent, Over: true, Watch: f.Watch}, nil
}

func (b *recordedBroker) Undo(_ context.Context, p plan.UndoPlan, progress plan.Progress) (plan.Account, error) {
	a := plan.Account{Operation: plan.Undo, From: p.Back, Planned: p.Planned(), Moved: p.Restores}
	a.Gone = a.Planned - a.Moved
	progress(a)
	return a, nil
}

func (b *recordedBroker) Others(context.Context, []plan.Left) (map[model.QueueRef]plan.Others, error) {
	return nil, nil
}

func (b *recordedBroker) AwaitGone(context.Context, *plan.Record, func(context.Context) ([]string, error)) error {
	return nil
}

func (b *recordedBroker) Resume(
	ctx context.Context, run resume.Run, progress plan.Progress,
) (plan.Account, error) {
	return b.Execute(ctx, run.RestOn(), progress)
}

func (b *recordedBroker) put(queue string, messages ...message.Message) {
	b.Lock()
	defer b.Unlock()
	before := len(b.messages[ref(queue)])
	all := append(b.messages[ref(queue)], messages...)
	for i := before; i < len(all); i++ {
		all[i].Position = i + 1
		all[i].BodyBytes = max(len(all[i].Body), all[i].BodyBytes)
		if all[i].Fingerprint == (message.Fingerprint{}) {
			all[i].Fingerprint = message.FingerprintOf(&all[i])
		}
		all[i].Deaths, all[i].DeathsError = message.ParseDeaths(all[i].Headers)
	}

	b.messages[ref(queue)] = all
}

// leave keeps only these messages of a queue, by position.
func (b *recordedBroker) leave(queue string, from, to int) {
	b.change(func() { b.messages[ref(queue)] = slices.Clone(b.messages[ref(queue)][from:to]) })
}

func (b *recordedBroker) Peek(_ context.Context, plan peek.Plan) (peek.Peeked, error) {
	outsideView("the broker")
	b.Lock()
	defer b.Unlock()
	b.peeks = append(b.peeks, plan)
	if b.down == plan.Queue {
		return peek.Peeked{Plan: plan}, errors.New("the queue's node is down")
	}
	if b.err != nil {
		return peek.Peeked{Plan: plan, Rescued: b.rescued}, b.err
	}
	all := b.messages[plan.Queue]
	var highest int64
	for i := range all {
		n, _ := all[i].Headers.Integer("x-delivery-count")
		highest = max(highest, n+1)
	}

	return peek.Peeked{
		Plan: plan, Highest: highest, Messages: slices.Clone(message.MessageList(all[:min(len(all), plan.Limit)])),
		Depth: model.Some(int64(len(all))), TakenAt: b.clock.now(),
	}, nil
}

func (b *recordedBroker) Execute(ctx context.Context, p plan.Run, progress plan.Progress) (plan.Account, error) {
	execute := b.execute
	b.change(func() { b.plans = append(b.plans, p) })
	if execute != nil {
		return execute(ctx, p, progress)
	}
	a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Elapsed: 12 * time.Millisecond}
	if p.Operation == plan.Drop {
		a.Dropped = p.Planned
	} else {
		a.Moved = p.Planned
	}

	progress(a)
	return a, nil
}

func (b *recordedBroker) fail(err error) { b.change(func() { b.err = err }) }
func (b *recordedBroker) peeked() int    { return under(b, func() int { return len(b.peeks) }) }

func (b *recordedBroker) executed() []plan.Run {
	return under(b, func() []plan.Run { return slices.Clone(b.plans) })
}

// ran checks the only plan that was executed.
func (term *terminal) ran(wanted func(p plan.Run) bool) *terminal {
	term.t.Helper()
	plans := term.broker.executed()
	must.Equal(term.t, len(plans), 1, "executed %+v", plans)
	assert.That(term.t, wanted(plans[0]), "executed %+v", plans)
	return term
}

// ends executes plans with an account that says what happened.
func ends(outcome func(a *plan.Account)) func(context.Context, plan.Run, plan.Progress) (plan.Account, error) {
	return func(_ context.Context, p plan.Run, _ plan.Progress) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned}
		outcome(&a)
		return a, nil
	}
}

// failedMessage returns the i-th message of ucenter@user@failed: published, tried three times, given up.
func failedMessage(i int) message.Message {
	published := newClock().now().Add(-time.Duration(300-i) * time.Second)
	reasons := []string{
		"TimeoutError: smtp gateway did not answer in 5 s",
		"ValueError: the user has no valid e-mail address",
	}

	return message.Message{
		Exchange: "master.failed", RoutingKey: "ucenter@user@failed",
		Properties: message.Properties{
			ContentType: "application/json", DeliveryMode: 2, MessageID: fmt.Sprintf("0f3c9a%02d-user", i),
			Timestamp: published, AppID: "ucenter",
		},
		Headers: model.Table{
			"x-orig-routing-key": "user.created", "x-error": reasons[i%len(reasons)],
			"x-death": []any{model.Table{
				"count": int64(3), "reason": "expired", "queue": "ucenter@user@retry", "exchange": "master.retry",
				"routing-keys": []any{"ucenter@user@retry"}, "time": published.Add(30 * time.Second),
			}},
			"x-first-death-queue": "ucenter@user@retry", "x-first-death-reason": "expired",
			"x-first-death-exchange": "master.retry",
		},
		Body: []byte(fmt.Sprintf(`{"id":%d,"name":"guan yu","email":"user%d@example.com","roles":["admin","mail"],"active":true}`, 120+i, i)),
	}
}

// failing returns a broker with n messages in ucenter@user@failed.
func failing(c *clock, n int) *recordedBroker {
	b := newRecordedBroker(c)
	messages := make([]message.Message, n)
	for i := range messages {
		messages[i] = failedMessage(i)
	}
	b.put("ucenter@user@failed", messages...)
	return b
}

func init() { time.Local = time.UTC } // screens must not depend on where a test runs

// Tap sees the test's messages, or none.
func (b *recordedBroker) Tap(
	ctx context.Context, _ trace.TapPlan, _ <-chan trace.TapPlan, see func(*message.Message, time.Time),
	tell func(trace.TapCounts),
) error {
	if b.tap != nil {
		return b.tap(ctx, see, tell)
	}
	tell(trace.TapCounts{})
	<-ctx.Done()
	return nil
}

// recording returns what a broker with these parts reported, written down in the language of model/build.
func recording(parts ...build.Part) *model.Snapshot {
	s := build.Broker("4.0.5", parts...)
	s.TakenAt = newClock().now()
	s.Overview.Node = "rabbit@mq1"
	s.Overview.User = "guest"
	return s
}

// later returns the same broker some time on: ready says what has changed.
func later(s *model.Snapshot, after time.Duration, ready map[string]int64) *model.Snapshot {
	next := *s
	next.TakenAt = s.TakenAt.Add(after)
	next.Queues = slices.Clone(s.Queues)
	for i := range next.Queues {
		if n, ok := ready[next.Queues[i].Name]; ok {
			next.Queues[i].Ready = model.Some(n)
		}
	}

	return &next
}

// queueIn returns a queue of a snapshot.
func queueIn(s *model.Snapshot, name string) *model.Queue {
	return &s.Queues[slices.IndexFunc(s.Queues, func(q model.Queue) bool { return q.Name == name })]
}

// without returns the same broker without a queue.
func without(s *model.Snapshot, name string) *model.Snapshot {
	next := *s
	next.Queues = slices.DeleteFunc(slices.Clone(s.Queues), func(q model.Queue) bool { return q.Name == name })
	return &next
}

// recount lets the next poll bring these numbers, counted now.
func (o Options) recount(ready map[string]int64) {
	source := o.Source.(*recorded)
	source.tell(countedAt(o.Broker.(*recordedBroker).clock, later(source.snapshot, 0, ready)))
}

// The words of model/build that these tests use again and again.
var (
	ready, consumers, ttl = build.Ready, build.Consumers, build.TTL
	dlx, deadKey          = build.DLX, build.DeadKey
	exchange, bind        = build.Exchange, build.Bind
)

// queue returns one that runs, and that the broker has counted.
func queue(name string, settings ...build.Setting) build.Part {
	counted := func(q *model.Queue) {
		q.State, q.CountedAt = "running", newClock().now()
		q.Published, q.Acked = build.Some(0), build.Some(0)
	}

	return build.Queue(name, append([]build.Setting{counted}, settings...)...)
}

func exclusive() build.Setting {
	return func(q *model.Queue) { q.Exclusive, q.OwnedByAnother = true, true }
}

// service returns a worker with a retry buffer and a failed queue, around topic exchanges.
func service(name string, consuming, waiting, failed int64) build.Part {
	return func(s *model.Snapshot) {
		for _, p := range []build.Part{
			queue(name, consumers(consuming)),
			queue(name+"@retry", ttl(30_000), dlx("master"), deadKey(name), ready(waiting)),
			queue(name+"@failed", ready(failed)),
			bind("master", "user.*", name), bind("master", name, name),
			bind("master.retry", name+"@retry", name+"@retry"), bind("master.failed", name+"@failed", name+"@failed"),
		} {
			p(s)
		}
	}
}

// busyBroker has flows of several kinds, some with problems.
func busyBroker() *model.Snapshot {
	return recording(
		exchange("topic", "master"), exchange("topic", "master.retry"), exchange("topic", "master.failed"),
		service("ucenter@user", 3, 1204, 47), service("ucenter@enterprise", 1, 0, 0), service("user-monitor", 2, 3, 0),
		exchange("direct", "out.exchange"), exchange("direct", "dlx.exchange"),
		queue("buffer-queue", dlx("dlx.exchange"), deadKey("dlx.routing.key"), ready(5)),
		bind("out.exchange", "out.routing.key", "buffer-queue"),
		queue("worker-queue", consumers(1)), bind("dlx.exchange", "dlx.routing.key", "worker-queue"),
		exchange("fanout", "example.dlx.exchange"),
		queue("example.delay.life", dlx("example.dlx.exchange"), exclusive(), ready(9)),
		queue("example.delay.heaven", exclusive(), ready(1)), bind("example.dlx.exchange", "", "example.delay.heaven"),
		exchange("fanout", "RetryExchange"), queue("RetryQueue", consumers(2)), bind("RetryExchange", "", "RetryQueue"),
		queue("default-delay", ttl(60_000), dlx("RetryExchange"), ready(12)),
		queue("test-delay", ttl(10_000), dlx("RetryExchange"), ready(4)),
	)
}

// manyQueues returns a broker with n queues, one flow in ten of them.
func manyQueues(n int) *model.Snapshot {
	s := recording(exchange("topic", "master"), exchange("topic", "master.retry"), exchange("topic", "master.failed"))
	for i := 0; len(s.Queues) < n; i++ {
		if i%8 == 0 {
			service(fmt.Sprintf("service.%05d", i), int64(i%4), int64(i%97), int64(i%13))(s)
			continue
		}
		queue(fmt.Sprintf("plain.%05d.events", i), ready(int64(i%1009)), consumers(int64(i%3)))(s)
	}

	s.Queues = s.Queues[:n]
	return s
}

// Letters of an answer are commands, wherever reads cut it.
func TestAnswersOfTheTerminalAreNoKeys(t *testing.T) {
	for _, tc := range must.Cases[struct {
		Reads []string
		Keys  string
		Light string // what was reported: "light", "dark", or nothing
	}](t, "testdata/answers.toml") {
		from, to, err := os.Pipe()
		must.Do(t, err)
		heard := ""
		k := &keyboard{File: from, background: func(light bool) {
			heard = map[bool]string{true: "light", false: "dark"}[light]
		}}

		var keys strings.Builder
		for _, read := range tc.Reads {
			keys.Write(k.without([]byte(read)))
		}

		assert.Equal(t, keys.String(), tc.Keys, "%q are the keys %q and %q, want %q and %q", tc.Reads, keys.String(), heard,
			tc.Keys, tc.Light)
		assert.Equal(t, heard, tc.Light, "%v", tc.Reads)
		k.held, heard = nil, ""
		must.Get(to.WriteString(strings.Join(tc.Reads, "")))(t)
		to.Close()
		if text, err := io.ReadAll(k); err != nil || string(text) != tc.Keys || heard != tc.Light {
			t.Errorf("read at once, %q are %q and %q (%v)", tc.Reads, text, heard, err)
		}

		from.Close()
	}
}

// The first frame has the right colours, and a late answer changes them.
func TestBackgroundIsWaitedFor(t *testing.T) {
	a := newApp(t.Context(), busy())
	a.width, a.height = 80, 24
	a.Profile = termenv.TrueColor
	a.Asking = true
	dress(a.Env, term.Auto)
	assert.That(t, a.View() == "", "something is drawn before the terminal has said its background")
	dark := a.Styles
	m, _ := a.Update(backgroundMsg{})
	assert.That(t, m.View() != "", "without an answer, what is drawn is not for a dark background")
	assert.Equal(t, a.Styles, dark, "without an answer, what is drawn is not for a dark background")
	m.Update(backgroundMsg{known: true, light: true})
	assert.That(t, a.Styles != dark, "a light background has the colours of a dark one")
}

// Another theme is selected without leaving, and the screen has its colours at once.
func TestThemeOfTheMoment(t *testing.T) {
	var e *shell.Env
	terminal := newTerminal(t, busy(), 80, 24, func(a *app) {
		a.Profile = termenv.TrueColor
		dress(a.Env, term.Dark)
		e = a.Env
	})

	terminal.await("ucenter@user").press(":theme").await("theme THEME")
	terminal.press(" li", keyEnter).awaitGone("tab completes").press("q")
	terminal.awaitEnd()
	assert.Equal(t, e.Styles, term.NewStyles(term.Light, termenv.TrueColor), "the theme is %s", e.Theme)
	assert.Equal(t, e.Theme, term.Light)
	other := busy().open(t, 80, 24).await("ucenter@user")
	other.press(":theme sepia", keyEnter).await("there is no theme sepia")
}

func TestOwnThemeIsOffered(t *testing.T) {
	o := failed(3)
	o.OwnThemes = map[string]map[string]string{"night": {"danger": "#ff00ff"}}
	screen := o.open(t, 80, 24).await("ucenter@user").command("theme ni", "▸ theme night").press(keyEnter)
	screen.awaitInside("the theme is worn", func(a app) bool { return a.Theme == "night" })
}
