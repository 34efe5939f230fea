package ui

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/trace"
)

// recordedBroker tells what it was given: messages by queue, and what becomes of a plan.
type recordedBroker struct {
	mu       sync.Mutex
	messages map[model.QueueRef][]message.Message
	err      error
	down     model.QueueRef // cannot be read
	clock    *clock
	peeks    []peek.Plan
	plans    []plan.Run
	probe    func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error)
	tap      func(ctx context.Context, plan trace.TapPlan, see func(*message.Message, time.Time),
		tell func(trace.TapCounts)) error
	count  func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) // nil: nothing is counted
	held   map[model.QueueRef]bool
	looked map[model.QueueRef]model.Looked
	// by looks that fail
	rescued    peek.Rescued
	unreadable error // of reading whole queues
	// nil: all succeeds
	execute func(ctx context.Context, plan plan.Run, progress func(plan.Account)) (plan.Account, error)
}

func newRecordedBroker(c *clock) *recordedBroker {
	return &recordedBroker{messages: map[model.QueueRef][]message.Message{}, clock: c}
}

// Lost is never.
func (b *recordedBroker) Lost(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (b *recordedBroker) User() string { return "guest" }

func (b *recordedBroker) Count(_ context.Context, refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == nil {
		return nil, nil
	}
	return b.count(refs)
}

func (b *recordedBroker) Held(time.Time) map[model.QueueRef]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

func (b *recordedBroker) Looked(context.Context, string) (map[model.QueueRef]model.Looked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looked, nil
}

func (b *recordedBroker) Address() string { return "mq1:5672" }

func (b *recordedBroker) Read(_ context.Context, plan peek.Plan, each func(*message.Message) error) (peek.Read, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
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

func (b *recordedBroker) Undo(_ context.Context, p plan.UndoPlan, progress func(plan.Account)) (plan.Account, error) {
	a := plan.Account{Operation: plan.Undo, From: p.Back, Planned: p.Planned(), Moved: p.Restores}
	a.Gone = a.Planned - a.Moved
	progress(a)
	return a, nil
}

func (b *recordedBroker) AwaitGone(
	context.Context, *plan.Record, func(context.Context) ([]string, error), ...model.QueueRef,
) error {
	return nil
}

func (b *recordedBroker) Resume(
	ctx context.Context, run resume.Run, progress func(plan.Account),
) (plan.Account, error) {
	return b.Execute(ctx, run.Rest.On(run.Topology), progress)
}

func (b *recordedBroker) put(queue string, messages ...message.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := append(b.messages[ref(queue)], messages...)
	for i := range all {
		all[i].Position = i + 1
		all[i].BodyBytes = max(len(all[i].Body), all[i].BodyBytes)
		if all[i].Fingerprint == (message.Fingerprint{}) {
			all[i].Fingerprint = message.FingerprintOf(&all[i])
		}
		all[i].Deaths, all[i].DeathsError = message.ParseDeaths(all[i].Headers)
	}
	b.messages[ref(queue)] = all
}

func (b *recordedBroker) Peek(_ context.Context, plan peek.Plan) (peek.Peeked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
		Plan: plan, Highest: highest, Messages: append(message.MessageList(nil), all[:min(len(all), plan.Limit)]...),
		Depth: model.Some(int64(len(all))), TakenAt: b.clock.now(),
	}, nil
}

func (b *recordedBroker) Execute(ctx context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
	b.mu.Lock()
	b.plans = append(b.plans, p)
	execute := b.execute
	b.mu.Unlock()
	if execute != nil {
		return execute(ctx, p, progress)
	}
	a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Elapsed: 12 * time.Millisecond}
	for range p.Planned {
		if p.Operation == plan.Drop {
			a.Dropped++
		} else {
			a.Moved++
		}
	}
	progress(a)
	return a, nil
}

func (b *recordedBroker) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *recordedBroker) peeked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.peeks)
}

func (b *recordedBroker) executed() []plan.Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]plan.Run(nil), b.plans...)
}

// failedMessage is the i-th message of ucenter@user@failed: published, tried three times, given up.
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

// failing is a broker with n messages in ucenter@user@failed.
func failing(c *clock, n int) *recordedBroker {
	b := newRecordedBroker(c)
	messages := make([]message.Message, n)
	for i := range messages {
		messages[i] = failedMessage(i)
	}
	b.put("ucenter@user@failed", messages...)
	return b
}

func init() { time.Local = time.UTC } // what is written on a screen must not depend on where a test runs

// Tap sees what the test gives it, or nothing.
func (b *recordedBroker) Tap(
	ctx context.Context, plan trace.TapPlan, follow <-chan trace.TapPlan, see func(*message.Message, time.Time),
	tell func(trace.TapCounts),
) error {
	if b.tap != nil {
		return b.tap(ctx, plan, see, tell)
	}
	tell(trace.TapCounts{})
	<-ctx.Done()
	return nil
}

// Probe tells the steps that the test gives it.
func (b *recordedBroker) Probe(
	_ context.Context, plan trace.ProbePlan, tell func(trace.ProbeStep),
) (trace.ProbeResult, error) {
	if b.probe == nil {
		return trace.ProbeResult{}, nil
	}
	return b.probe(plan, tell)
}
