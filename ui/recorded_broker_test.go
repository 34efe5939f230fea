package ui

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dlxtop/model"
)

// recordedBroker tells what it was given: messages by queue, and what becomes of a plan.
type recordedBroker struct {
	mu       sync.Mutex
	messages map[model.QueueRef][]model.Message
	err      error
	clock    *clock
	peeks    []model.PeekPlan
	plans    []model.Plan
	probe    func(plan model.ProbePlan, tell func(model.ProbeStep)) (model.ProbeResult, error)
	tap      func(ctx context.Context, plan model.TapPlan, see func(*model.Message, time.Time), tell func(model.TapCounts)) error
	count    func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) // nil: nothing is counted
	held     map[model.QueueRef]bool
	execute  func(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error) // nil: all succeeds
}

func newRecordedBroker(c *clock) *recordedBroker {
	return &recordedBroker{messages: map[model.QueueRef][]model.Message{}, clock: c}
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

func (b *recordedBroker) Address() string { return "mq1:5672" }

func (b *recordedBroker) Read(_ context.Context, plan model.PeekPlan, each func(*model.Message) error) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages[plan.Queue] {
		if err := each(&m); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (b *recordedBroker) Undo(_ context.Context, plan model.UndoPlan, entries func(func(*model.Entry) error) error, progress func(model.Account)) (model.Account, error) {
	a := model.Account{Operation: model.Undo, From: plan.Back, Planned: plan.Planned()}
	err := entries(func(e *model.Entry) error {
		if plan.Restored(e) {
			a.Moved++
		}
		return nil
	})
	a.Gone = a.Planned - a.Moved
	progress(a)
	return a, err
}

func (b *recordedBroker) put(queue string, messages ...model.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := append(b.messages[ref(queue)], messages...)
	for i := range all {
		all[i].Position = i + 1
		all[i].BodyBytes = max(len(all[i].Body), all[i].BodyBytes)
		if all[i].Fingerprint == (model.Fingerprint{}) {
			all[i].Fingerprint = model.FingerprintOf(&all[i])
		}
		all[i].Deaths, all[i].DeathsError = model.ParseDeaths(all[i].Headers)
	}
	b.messages[ref(queue)] = all
}

func (b *recordedBroker) Peek(_ context.Context, plan model.PeekPlan) (model.Peeked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peeks = append(b.peeks, plan)
	if b.err != nil {
		return model.Peeked{Plan: plan}, b.err
	}
	all := b.messages[plan.Queue]
	return model.Peeked{
		Plan: plan, Messages: append(model.MessageList(nil), all[:min(len(all), plan.Limit)]...),
		Depth: model.Some(int64(len(all))), TakenAt: b.clock.now(),
	}, nil
}

func (b *recordedBroker) Execute(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error) {
	b.mu.Lock()
	b.plans = append(b.plans, plan)
	execute := b.execute
	b.mu.Unlock()
	if execute != nil {
		return execute(ctx, plan, progress)
	}
	a := model.Account{Operation: plan.Operation, From: plan.From, Planned: plan.Planned, Elapsed: 12 * time.Millisecond}
	for range plan.Planned {
		if plan.Operation == model.Drop {
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

func (b *recordedBroker) executed() []model.Plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]model.Plan(nil), b.plans...)
}

// failedMessage is the i-th message of ucenter@user@failed: published, tried three times, given up.
func failedMessage(i int) model.Message {
	published := newClock().now().Add(-time.Duration(300-i) * time.Second)
	reasons := []string{"TimeoutError: smtp gateway did not answer in 5 s", "ValueError: the user has no valid e-mail address"}
	return model.Message{
		Exchange: "master.failed", RoutingKey: "ucenter@user@failed",
		Properties: model.Properties{
			ContentType: "application/json", DeliveryMode: 2, MessageID: fmt.Sprintf("0f3c9a%02d-user", i), Timestamp: published, AppID: "ucenter",
		},
		Headers: model.Table{
			"x-orig-routing-key": "user.created", "x-error": reasons[i%len(reasons)],
			"x-death": []any{model.Table{
				"count": int64(3), "reason": "expired", "queue": "ucenter@user@retry", "exchange": "master.retry",
				"routing-keys": []any{"ucenter@user@retry"}, "time": published.Add(30 * time.Second),
			}},
			"x-first-death-queue": "ucenter@user@retry", "x-first-death-reason": "expired", "x-first-death-exchange": "master.retry",
		},
		Body: []byte(fmt.Sprintf(`{"id":%d,"name":"guan yu","email":"user%d@example.com","roles":["admin","mail"],"active":true}`, 120+i, i)),
	}
}

// failing is a broker with n messages in ucenter@user@failed.
func failing(c *clock, n int) *recordedBroker {
	b := newRecordedBroker(c)
	messages := make([]model.Message, n)
	for i := range messages {
		messages[i] = failedMessage(i)
	}
	b.put("ucenter@user@failed", messages...)
	return b
}

func init() { time.Local = time.UTC } // what is written on a screen must not depend on where a test runs

// Tap sees what the test gives it, or nothing.
func (b *recordedBroker) Tap(ctx context.Context, plan model.TapPlan, follow <-chan model.TapPlan, see func(*model.Message, time.Time), tell func(model.TapCounts)) error {
	if b.tap != nil {
		return b.tap(ctx, plan, see, tell)
	}
	tell(model.TapCounts{})
	<-ctx.Done()
	return nil
}

// Probe tells the steps that the test gives it.
func (b *recordedBroker) Probe(_ context.Context, plan model.ProbePlan, tell func(model.ProbeStep)) (model.ProbeResult, error) {
	if b.probe == nil {
		return model.ProbeResult{}, nil
	}
	return b.probe(plan, tell)
}
