package ui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/turns"
	"github.com/dlxtop/dlxtop/preferences"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// indexed returns the screen of causes with an index in a directory, after its failed queues were read, including the
// costly one. The next session with these options begins an hour later.
func indexed(t *testing.T, dir string) (Options, *recordedBroker) {
	t.Helper()
	o, b, source, c := manyFailed()
	o.Index = preferences.CauseIndex{Dir: dir}
	o.Consent = peek.AskEach
	source.snapshot.Overview.ClusterName = "rabbit@mq1"
	term := o.onCauses(t).await("88 of 90 read").press("i").await("Read 1 failed queue")
	term.press(keyEnter).await("   90 read", "KeyError").awaitGone("as of").press("q").awaitEnd()
	c.advance(time.Hour)
	o.recount(nil)

	return o, b
}

// filesOf returns the files of an index.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
}

// Earlier readings are shown at once, with their time, until the queue is read again. Where a look has a cost, that
// only happens on request.
func TestCausesOfEarlierStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "causes")
	o, b := indexed(t, dir)
	looks := b.looksAt("lots.failed")
	b.fail(errors.New("the broker is busy"))
	term := o.onCauses(t)
	term.await("90 messages   90 read, 90 of them as of 03:04", "ValueError: the user", "KeyError",
		"not read again: mail.failed: the broker is busy", "not read again: ucenter@user@failed: the broker",
		"as of 03:04: 2 of lots.failed: a look has a cost")
	term.lacks("example  ", "the text of a message was kept")
	term.settle().golden()
	b.fail(nil)
	term.press(keyCtrlR).await("90 read, 2 of them as of 03:04", "example  ")
	assert.Equal(t, b.looksAt("lots.failed"), looks, "where a look has a cost it looked")
	term.press("i").await("Read 1 failed queue", "lots.failed, 2 messages").press(keyEnter).awaitGone("as of")
	assert.Equal(t, b.looksAt("lots.failed"), looks+1, "when it was asked to it looked")
}

// When messages have left a queue, it is unknown which: none of its causes is shown, and all of it counts as unread,
// and so do later messages.
func TestEarlierCausesThatAreUnknownNow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "causes")
	o, b := indexed(t, dir)
	b.put("lots.failed", failedFor(3, "KeyError: lot"))
	o.recount(map[string]int64{"lots.failed": 3})
	o.Interval = 10 * time.Millisecond
	term := o.onCauses(t)
	term.await("90 of 91 read, 2 of them as of 03:04", "as of 03:04: 2 of lots.failed, not read: 1: a look",
		"KeyError")
	term.recount(map[string]int64{"lots.failed": 1})
	term.await("88 of 89 read", "not read: 1 of lots.failed: a look has a cost").awaitGone("KeyError")
	assert.Equal(t, len(filesOf(t, dir)), 2, "queues are in the index")
	term.press("q").awaitEnd()

	term = o.onCauses(t).await("88 of 89 read", "not read: 1 of lots.failed: a look has a cost")
	term.awaitGone("as of")
	term.lacks("KeyError", "it shows what is not known any more")
}

// A queue where a look has a cost is not reread automatically: when messages have left since, its causes are no longer
// known either.
func TestCostlyCausesThatAreUnknownNow(t *testing.T) {
	o, _, _, c := manyFailed()
	o.Interval = 10 * time.Millisecond
	term := o.onCauses(t).await("88 of 90 read").press("i").await("Read 1 failed queue")
	term.press(keyEnter).await("   90 read", "KeyError")
	c.advance(time.Minute)
	term.recount(map[string]int64{"lots.failed": 1})
	term.await("88 of 89 read", "not read: 1 of lots.failed: a look has a cost").awaitGone("KeyError")
}

// A damaged or foreign index is rewritten, and nothing else is affected; nor is it by one that cannot be written.
func TestDamagedIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "causes")
	o, _ := indexed(t, dir)
	files := filesOf(t, dir)
	must.That(t, len(files) == 3, "the index is %q", files)
	for i, path := range files {
		text := [][]byte{[]byte("dlxtop causes 1\n…"), {}, []byte("{}")}[i]
		must.Do(t, os.WriteFile(path, text, 0o600))
	}

	term := o.onCauses(t).await("88 of 90 read", "not read: 2 of lots.failed").awaitGone("as of")
	term.press("q").awaitEnd()
	o.onCauses(t).await("88 of 90 read")
	sound := 0
	for _, path := range files {
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "dlxtop causes 6\n") {
			sound++
		}
	}

	assert.Equal(t, sound, 2, "files were written again")

	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	o.Index = preferences.CauseIndex{Dir: filepath.Join(file, "causes")}
	o.onCauses(t).await("88 of 90 read")
}

// A cause is not back because of messages known only from the index: without times their number decides, and they may
// have left.
func TestEarlierCausesAreNotBack(t *testing.T) {
	o, _, _, c := manyFailed()
	marks := &shell.MarksInMemory{}
	lots := ref("lots.failed")
	o.Marks = marks
	r := causes.NewReading(newApp(t.Context(), o).Env)
	for i := range 2 {
		m := message.Message{Headers: model.Table{"x-error": "KeyError: lot"}, Fingerprint: message.Fingerprint{byte(i)}}
		r.Groups.Add(lots, &m)
	}

	found := r.Groups.List()[0]
	_, err := marks.Change(func(text []byte) ([]byte, error) {
		return cause.WithStates(text, r.Broker, func(s cause.States) {
			s.Mark(&cause.Group{ID: found.ID, Cause: found.Cause}, cause.Resolved, c.now()) // none of them was left
		})
	})

	must.Do(t, err)

	for _, c := range []struct {
		earlier *cause.Earlier
		want    cause.State
	}{{&cause.Earlier{}, cause.Resolved}, {nil, cause.Back}} {
		r.Queues[lots] = &causes.Queue{Ref: lots, Earlier: c.earlier}
		msg := causes.ReadMsg{At: r.Env.Now()}
		r.Finishing(nil)(&msg)
		got := msg.Marks.States.Of(found.ID).State
		assert.Equal(t, got, c.want, "of the index %v: it is %s, %+v", c.earlier != nil, got, msg.List)
		must.Equal(t, len(msg.List), 1, "%v", c.earlier != nil)
		assert.Equal(t, msg.List[0].Messages, 2, "%v", c.earlier != nil)
	}
}

// stuckBroker holds messages of a queue as long as it may when they are read for their causes.
type stuckBroker struct {
	*recordedBroker
	began chan struct{} // holds one: that such a look has begun
}

func (b stuckBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	if plan.Limit != causes.Page {
		return b.recordedBroker.Peek(ctx, plan)
	}
	select {
	case b.began <- struct{}{}:
	default:
	}

	<-ctx.Done()
	return peek.Peeked{Plan: plan}, ctx.Err()
}

// A queue that is opened while it is read for its causes is read at once, and whole.
func TestQuietLooksGiveWay(t *testing.T) {
	o, b, _ := failedOptions(5)
	stuck := stuckBroker{b, make(chan struct{}, 1)}
	o.Broker = stuck
	term := o.open(t).await("ucenter@user ").press("3")
	<-stuck.began
	term.press("f").await("FAILED QUEUE").press(keyEnter).await("5 messages", "TimeoutError")
}

// A requested operation begins when the messages are back, not before.
func TestGivingWayWaits(t *testing.T) {
	q := turns.NewBackground()
	q.Suspend()() // there is none
	began, back := make(chan struct{}), false
	go func() {
		_ = q.Run(t.Context(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			back = true
			return ctx.Err()
		})
	}()

	<-began
	defer q.Suspend()()
	assert.That(t, back, "it did not wait")
}

// While something waits for its turn, the screen says which program has it.
func TestScreenSaysForWhomItWaits(t *testing.T) {
	var tell func(*model.InUse)
	term := busy().openWith(t, nil, func(a *app) { tell = model.TellerOfWaits(a.Work.Ctx) })
	tell(&model.InUse{Queue: ref("q")})
	term.await("waits: ", "q is in use by another dlxtop")
	tell(nil)
	term.awaitGone("waits: ")
}

// Requested operations do not wait for earlier ones, and a quiet look waits for all of them, or until it is cancelled.
func TestQuietLooksWait(t *testing.T) {
	q := turns.NewBackground()
	first := q.Suspend()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- q.Run(ctx, func(context.Context) error { return nil }) }()
	ran := make(chan error)
	go func() { ran <- q.Run(t.Context(), func(context.Context) error { return nil }) }()
	second := q.Suspend()
	cancel()
	err := <-given
	assert.That(t, errors.Is(err, context.Canceled), "given up: %v", err)
	first()

	select {
	case <-ran:
		t.Error("it ran beside what was asked for")
	default:
	}

	second()
	assert.Succeeds(t, <-ran)
}

// A quiet look that was requested with a key, or whose cost was agreed to, begins again after it has given way; one
// that failed does not.
func TestAWishOutlivesGivingWay(t *testing.T) {
	o, _, c := failedOptions(5)
	for _, test := range []struct {
		err  error
		want bool
	}{{context.Canceled, true}, {errors.New("the queue's node is down"), false}, {nil, false}} {
		reading := causes.NewReading(newApp(t.Context(), o).Env)
		q := &causes.Queue{Ref: ref(failedQueue), Limit: 10 * causes.Page, Read: causes.Page, ReadAt: c.now()}
		q.Wanted, q.Agreed = true, true
		reading.Look(q)
		reading.Answered(causes.ReadMsg{Request: reading.Request, Looked: true, Err: test.err})
		assert.Equal(t, q.Wanted, test.want, "after %v it is wanted: %t, and agreed to: %t", test.err, q.Wanted, q.Agreed)
		assert.Equal(t, q.Agreed, test.want, "%v", test.err)
	}
}

// After a failed request for more it can be requested again, for no more than before.
func TestMoreIsOfferedAgain(t *testing.T) {
	o, _, c := failedOptions(5)
	reading := causes.NewReading(newApp(t.Context(), o).Env)
	q := &causes.Queue{
		Ref: ref(failedQueue), Limit: causes.Page, Read: causes.Page, ReadAt: c.now(),
		Plan: peek.Plan{Method: peek.Stream, Free: true}, Depth: build.Some(50_000),
	}

	reading.Queues[q.Ref], reading.Order = q, []*causes.Queue{q}
	for range 2 {
		must.That(t, reading.More() == 1, "more is not offered")
		reading.Extend()
		assert.Equal(t, q.Limit, causes.Page*messages.PeekFactor, "%d messages are asked for, and wanted: %t", q.Limit,
			q.Wanted)
		assert.That(t, q.Wanted, "%d messages are asked for, and wanted: %t", q.Limit, q.Wanted)
		reading.Look(q)
		err := errors.New("the queue's node is down")
		reading.Answered(causes.ReadMsg{Request: reading.Request, Looked: true, Err: err})
	}
}

// endlessBroker looks until its test ends it.
type endlessBroker struct {
	*recordedBroker
	began, ended chan struct{}
}

func (b endlessBroker) last(ctx context.Context) error {
	b.began <- struct{}{}
	<-ctx.Done()
	b.ended <- struct{}{}
	return ctx.Err()
}

func (b endlessBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	return peek.Peeked{Plan: plan}, b.last(ctx)
}

func (b endlessBroker) Read(ctx context.Context, _ peek.Plan, _ message.Visit) (peek.Read, error) {
	return peek.Read{}, b.last(ctx)
}

// Until a look returns its messages, the next one sees the queue empty. It ends with its screen, as does the one for
// planning an undo.
func TestLeavingEndsTheLook(t *testing.T) {
	for name, open := range map[string]func(*app, int64) shell.Screen{
		"messages": func(a *app, _ int64) shell.Screen { return messages.NewScreen(a.Env, ref(failedQueue)) },
		"undo":     func(a *app, id int64) shell.Screen { return act.NewUndoScreen(a.Env, id) },
	} {
		t.Run(name, func(t *testing.T) {
			o, b, _ := failedOptions(1)
			id := withUnfinishedDrop(t, &o)
			looks := endlessBroker{b, make(chan struct{}, 1), make(chan struct{}, 1)}
			o.Broker = looks
			term := newTerminal(t, o, 120, 36, with(func(a *app) shell.Screen { return open(a, id) }))
			receive(t, looks.began, "no look began")
			term.press(keyEsc).await("NEXT DUE")
			receive(t, looks.ended, "the look goes on")
		})
	}
}

// countedLooks returns a broker on which each look at orders.failed uses up its delivery limit.
func countedLooks(looked model.LookedByQueue) (Options, *recordedBroker, *recorded) {
	s := recording(queue("orders.failed"), queue("orders"))
	o, b, _ := showing(s)
	o.Interval = 10 * time.Millisecond
	b.looked = looked
	for i := range s.Queues {
		s.Queues[i].Type, s.Queues[i].Consumers, s.Queues[i].Ready = model.Quorum, build.Some(0), build.Some(2)
	}

	return o, b, o.Source.(*recorded)
}

// The lists of queues show what earlier looks have left of a delivery limit, before another one is spent.
func TestLooksLeftBeforeALook(t *testing.T) {
	o, b, _ := countedLooks(model.LookedByQueue{ref("orders.failed"): {Highest: 3, Limit: 20}})
	term := o.open(t).press("2").await("at most 20 looks left (delivery limit)")
	term.press(keyDown).await("17 looks left of 20").press("3", "f").await("LOOKS LEFT", "17 of 20")
	assert.Equal(t, b.peeked(), 0, "it looked")
}

// A failed look has cost as much as a successful one, and polls do not repeat it. A refusal that only the first message
// could show looks like any other one, with what was rescued.
func TestNoLookAfterAFailedOne(t *testing.T) {
	for _, test := range []struct {
		err  error
		says []string
	}{
		{errors.New("the connection was lost"), []string{"not read: the connection was lost"}},
		{&peek.LimitReached{Limit: 20}, []string{
			"not read: 0 looks left of 20", "i looks anyway: messages that are at their limit move to the end of the queue",
			"1 message at the delivery limit rescued: moved to the end of the queue (journal 7)",
		}},
	} {
		o, b, source := countedLooks(nil)
		b.err = test.err
		b.rescued = peek.Rescued{Copied: 1, JournalID: 7}
		term := o.onQueue(t, "orders.failed").await("i reads it, at a cost").press("i").await(test.says...)
		polls := source.times()
		term.awaitThat("five polls", func(string) bool { return source.times() > polls+5 })
		assert.Equal(t, b.peeked(), 1, "it looked")

		if len(test.says) == 1 {
			continue // nothing is insisted on
		}
		b.change(func() { b.err = nil })
		term.press("i").awaitThat("insisting reads it", func(string) bool { return b.peeked() == 2 })
		b.change(func() { assert.That(t, b.peeks[1].Agreed, "%+v", b.peeks[1]) })
	}
}

// limitedFailed returns a broker of 4.0 on which a flow's failed queue has three messages, and looks at it use up its
// delivery limit.
func limitedFailed() (Options, *recordedBroker) {
	s := recording(queue("orders", dlx("dlx"), consumers(1)), queue("orders.failed"), exchange("fanout", "dlx"),
		bind("dlx", "", "orders.failed"))
	o, b, _ := showing(s)
	s.Overview.ClusterName = "rabbit@mq1"
	failedQueue := queueIn(s, "orders.failed")
	failedQueue.Type, failedQueue.Consumers, failedQueue.Ready = model.Quorum, build.Some(0), build.Some(3)
	for i := range 3 {
		b.put("orders.failed", failedFor(i, "KeyError: lot"))
	}

	return o, b
}

// looksAtOrders checks how often the failed queue was looked at, and that each look took all.
func looksAtOrders(t *testing.T, b *recordedBroker, want int) {
	t.Helper()
	assert.Equal(t, b.looksAt("orders.failed"), want, "looks")
	b.change(func() {
		for _, p := range b.peeks {
			assert.Equal(t, p.Limit, peek.MostLook, "messages that a look takes")
		}
	})
}

// Once for a broker there is one question, and one look answers what failed, why and how many.
func TestOneQuestionAndOneLook(t *testing.T) {
	o, b := limitedFailed()
	o.Preferences = preferences.File{Path: filepath.Join(t.TempDir(), preferences.ScreensName)}
	term := o.open(t).await("orders ").press("3")
	term.await("Read 1 failed queue", "orders.failed, 3 messages: at most 20 looks left of 20", "1 ask each time",
		"esc not now")
	term.press(keyEsc).await("3 messages wait in orders.failed, not read yet",
		"One look reads all of a queue and uses 1 of its delivery limit: at most 20 looks left of 20",
		"i reads them; looks begin: ask each time (L changes that)",
		`rabbitmqctl set_policy -p '/' --apply-to quorum_queues --priority 0 free-looks '^(orders\.failed)$'`)

	looksAtOrders(t, b, 0)
	term.press("L", "2").await("   3 read", "KeyError")
	term.press("i").settle().lacks("Read 1 failed queue", "it asks about what was read")
	term.press(":find lot", keyEnter).await("3 found", "complete").press("q")
	looksAtOrders(t, b, 1)
	term.press("q").awaitEnd()

	term = o.open(t).await("orders ").press("3").await("   3 read", "KeyError").settle()
	term.lacks("1 ask each time", "it asks once more")
	looksAtOrders(t, b, 2) // nothing was kept on disk
	text := must.Get(preferences.File{Path: o.Preferences.(preferences.File).Path}.Load())(t)
	assert.Equal(t, shell.ChoicesIn(text).Looks["rabbit@mq1"], peek.WhileHalf)
}

// From 4.3 on a look is free, unless messages keep what another queue's limit counted.
func TestAPolicyFreesLooksAtWhatKeepsItsCount(t *testing.T) {
	o, _ := limitedFailed()
	s := o.Source.(*recorded).snapshot
	s.Overview.Version = model.ParseVersion("4.3.6")
	queueIn(s, "orders").Type = model.Quorum

	term := o.open(t).await("orders ").press("3").await("0 of 3 read; i reads 3, at a cost",
		`rabbitmqctl set_policy -p '/' --apply-to quorum_queues --priority 0 free-looks '^(orders\.failed)$'`)
	term.lacks("L changes", "no choice is offered for what is asked each time")
}

// What each answer, and each word of a configuration, lets happen.
func TestConsentToLooks(t *testing.T) {
	for name, c := range map[string]struct {
		consent peek.Consent // of the configuration
		key     string       // the answer
		used    int64        // of the delivery limit
		looks   int
	}{
		"ask, now":             {"", "1", 3, 1},
		"half, 17 left":        {"", "2", 3, 1},
		"half, 10 left":        {"", "2", 10, 0},
		"always, 10 left":      {"", "3", 10, 1},
		"configured to ask":    {peek.AskEach, "", 3, 0},
		"configured, 17 left":  {peek.WhileHalf, "", 3, 1},
		"configured, 10 left":  {peek.WhileHalf, "", 10, 0},
		"configured to always": {peek.Always, "", 10, 1},
		"2 left":               {peek.Always, "", 18, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o, b := limitedFailed()
			o.Consent, b.looked = c.consent, model.LookedByQueue{
				ref("orders.failed"): {Highest: c.used, Limit: 20},
			}
			term := o.open(t).await("orders ").press("3")
			if c.key != "" {
				term.await("1 ask each time").press(c.key).awaitGone("1 ask each time")
			}

			if c.looks > 0 {
				term.await("   3 read", "KeyError")
			} else {
				term.await("0 of 3 read").settle()
				term.lacks("1 ask each time", "it asks what is configured")
			}

			looksAtOrders(t, b, c.looks)
		})
	}
}

// A look begins by itself once: a queue that fills would soon use up its limit. A key reads on.
func TestLooksDoNotBeginByThemselvesAgain(t *testing.T) {
	o, b := limitedFailed()
	o.Consent = peek.Always
	o.Interval = 10 * time.Millisecond
	term := o.open(t).await("orders ").press("3").await("   3 read")
	term.clock.advance(time.Minute)
	b.put("orders.failed", failedFor(4, "KeyError: lot"))
	term.recount(map[string]int64{"orders.failed": 4})
	term.await("3 of 4 read; M reads all with 1 new, at a cost").settle()
	looksAtOrders(t, b, 1)
	term.press("M").await("   4 read")
	looksAtOrders(t, b, 2)
}
