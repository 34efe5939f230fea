package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trace"
)

const (
	probeLooks = 100 * time.Millisecond // between two looks for a probe in a queue
	probeFound = 5 * time.Second        // how soon a probe that has passed its DLX must be in the queues behind it
)

// Probe sends the probe of a plan, follows it, and removes it from queues without consumers. tell gets each step as it
// happens. An error means that nothing was sent. Cancelling the context ends the wait: the probe is removed from the
// buffer, and the result says so.
func (c *Client) Probe(
	ctx context.Context, planned trace.ProbePlan, tell func(trace.ProbeStep),
) (trace.ProbeResult, error) {
	p := &probe{client: c, plan: &planned, tell: tell, passed: make(chan passing, 16), ready: map[model.QueueRef]int64{}}
	p.result.Should = planned.TTL
	if planned.Refusal.Refused() {
		return p.result, errors.New(planned.Refusal.Words())
	}
	if err := p.nobodyElse(ctx); err != nil {
		return p.result, err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	ended, err := p.follow(following)
	if err != nil {
		return p.result, err
	}
	if err := p.send(ctx); err != nil {
		stop()
		<-ended
		return p.result, err
	}
	p.await(ctx, ended)
	stop()
	<-ended
	return p.result, nil
}

type probe struct {
	client  *Client
	plan    *trace.ProbePlan
	tell    func(trace.ProbeStep)
	passed  chan passing             // at most one for each tapped exchange and death: far fewer than it holds
	ready   map[model.QueueRef]int64 // messages at the last look, where looks count
	sent    time.Time
	entered time.Time // as far as known
	// by the broker, so that it entered no later; zero: it was not
	confirmed time.Time
	result    trace.ProbeResult
}

// passing is the probe at a tapped exchange.
type passing struct {
	at   time.Time
	died bool
}

func (p *probe) step(stage trace.ProbeStage, where string, at time.Time, note string) {
	s := trace.ProbeStep{Stage: stage, Where: where, After: at.Sub(p.sent), Note: note}
	p.result.Steps = append(p.result.Steps, s)
	if p.tell != nil {
		p.tell(s)
	}
}

// nobodyElse makes sure that no application has begun to consume a queue since the plan was made.
func (p *probe) nobodyElse(ctx context.Context) error {
	if p.plan.ToConsumers {
		return nil
	}
	for _, r := range p.plan.Removals[1:] { // the first is for the buffer
		counts, err := p.client.Count(ctx, []model.QueueRef{r.From})
		if err = cmp.Or(err, silent(counts, r.From)); err != nil {
			return err
		}
		if n := counts[r.From].Consumers.Or(0); n > 0 {
			return fmt.Errorf("%s has %s now: nothing was sent", model.Printable(r.From.String()), model.Plural(n, "consumer"))
		}
	}
	return nil
}

// follow taps the exchanges that the probe passes, and returns when the tap works. ended is closed when the tap ends.
func (p *probe) follow(ctx context.Context) (ended <-chan struct{}, err error) {
	done := make(chan struct{})
	if len(p.plan.Tap.Bindings) == 0 {
		close(done)
		return done, nil
	}
	works := make(chan struct{}, 1)
	failed := make(chan error, 1)
	go func() {
		defer close(done)
		failed <- p.client.Tap(ctx, p.plan.Tap, nil, func(m *message.Message, at time.Time) {
			if p.plan.IsProbe(m) {
				select {
				case p.passed <- passing{at, len(m.Deaths) > 0}:
				default:
				}
			}
		}, func(trace.TapCounts) { signal(works) })
	}()
	select {
	case <-works:
		return done, nil
	case err := <-failed:
		<-done
		if err == nil {
			err = ctx.Err()
		}
		return nil, err
	}
}

// send publishes the probe. An error means that it is in no queue.
func (p *probe) send(ctx context.Context) error {
	publishing := p.plan.Publishing()
	m := &message.Message{Position: 1, Properties: publishing.Properties}
	l := &ledger{began: time.Now(), account: plan.Account{Operation: plan.Import, From: p.plan.Buffer, Planned: 1}}
	w, err := openWindow(ctx, p.client, p.client.patience, p.plan.VHost, nil, l, func(f *flight) {
		l.record(plan.Moved, f.message, "")
	})
	if err != nil {
		return err
	}
	p.sent = time.Now()
	err = w.publish(ctx, &flight{message: m, publishing: &publishing}) // it waits for the confirm of a first message
	at := time.Now()
	if e := w.finish(); e != nil && err == nil {
		err = e
	}
	account := l.copy()
	switch {
	case account.Moved == 1:
		p.entered, p.confirmed = p.sent, at
		p.step(trace.ProbeEntered, p.plan.Buffer.Name, at, "")
		return nil
	case account.Unknown == 1:
		p.entered = p.sent
		p.result.Left = p.plan.Buffer.Name
		return nil // it may be on its way
	case len(account.Problems) > 0:
		return fmt.Errorf("the probe was not taken: %s", account.Problems[0].Reason)
	}
	return fmt.Errorf("the probe was not sent: %w", err)
}

// await follows the probe until it has arrived, or the time is over.
func (p *probe) await(ctx context.Context, tapEnded <-chan struct{}) {
	over := time.NewTimer(time.Until(p.sent.Add(p.plan.Timeout)))
	defer over.Stop()
	looks := time.NewTicker(probeLooks)
	defer looks.Stop()
	taps := p.plan.Taps(p.plan.DLX)
	for {
		select {
		case seen := <-p.passed:
			if !seen.died {
				p.entered = seen.at
				if !p.confirmed.IsZero() && p.confirmed.Before(seen.at) { // a copy may come late
					p.entered = p.confirmed
				}
				continue
			}
			p.result.Waited = model.Some(seen.at.Sub(p.entered))
			p.step(trace.ProbeExpired, p.plan.DLX, seen.at, "")
			p.arrive(ctx)
			return
		case <-looks.C:
			if !taps && time.Since(p.sent) >= p.plan.TTL.Or(0) && p.collect(ctx, p.plan.Removals[1:]) > 0 {
				p.result.Arrived = true
				p.result.Verdict = "the probe arrived"
				return
			}
		case <-tapEnded:
			tapEnded = nil
			if ctx.Err() == nil && taps {
				p.giveUp("the tap ended")
				return
			}
		case <-over.C:
			p.giveUp("")
			return
		case <-ctx.Done():
			p.giveUp("it was stopped")
			return
		}
	}
}

// arrive looks for the probe behind its DLX: where there are no consumers, it is found and removed.
func (p *probe) arrive(ctx context.Context) {
	expired := p.result.Steps[len(p.result.Steps)-1].After
	for _, r := range p.plan.Reaches {
		if n, known := r.Consumers.Get(); !known || n > 0 {
			p.step(trace.ProbeReached, r.Queue.Name, p.sent.Add(expired), "handed to its consumers")
		}
	}
	wanted := len(p.plan.Removals) - 1
	found := 0
	for end := time.Now().Add(probeFound); found < wanted && time.Now().Before(end) && ctx.Err() == nil; {
		if found += p.collect(ctx, p.plan.Removals[1:]); found < wanted {
			time.Sleep(probeLooks / 10)
		}
	}
	p.result.Arrived = found == wanted && len(p.plan.Reaches) > 0
	switch {
	case p.result.Arrived:
		p.result.Verdict = "the probe arrived"
	case len(p.plan.Reaches) == 0:
		p.result.Verdict = "it expired, and no queue took it: messages that pass here are lost"
	default:
		p.result.Left = p.missing()
		p.result.Verdict = "it expired, but is not where it should be: someone took it out of " +
			model.Printable(p.result.Left) + ", or dlxtop could not look there"
	}
}

func (p *probe) missing() string {
	for _, r := range p.plan.Removals[1:] {
		if !p.was(r.From.Name) {
			return r.From.Name
		}
	}
	return ""
}

func (p *probe) was(where string) bool {
	return slices.ContainsFunc(p.result.Steps, func(s trace.ProbeStep) bool {
		return s.Stage == trace.ProbeReached && s.Where == where
	})
}

// collect removes the probe from queues where it was not found yet, and returns in how many it was now.
func (p *probe) collect(ctx context.Context, removals []plan.Plan) int {
	found := 0
	for _, r := range removals {
		if p.was(r.From.Name) || r.Acquire.Counts && !p.news(ctx, r.From) {
			continue
		}
		account, err := p.client.Execute(ctx, r.On(nil), nil)
		if err == nil && account.Dropped > 0 {
			found++
			now := time.Now()
			p.step(trace.ProbeReached, r.From.Name, now, "")
			p.step(trace.ProbeRemoved, r.From.Name, now, "")
		}
	}
	return found
}

// news reports whether a queue's depth has changed since the last look: where each look counts, it is only looked at
// then.
func (p *probe) news(ctx context.Context, queue model.QueueRef) bool {
	counts, err := p.client.Count(ctx, []model.QueueRef{queue})
	ready, answered := counts[queue].Ready.Get()
	if last, looked := p.ready[queue]; err != nil || !answered || looked && last == ready {
		return false
	}
	p.ready[queue] = ready
	return ready > 0
}

// giveUp says where the probe was last seen and what that means, and removes it if it can be found without harm: while
// the messages ahead of it are held, overdue ones behind them would expire at once, and overtake them.
func (p *probe) giveUp(why string) {
	ctx, stop := context.WithTimeout(context.Background(), probeFound)
	defer stop()
	if why != "" {
		why += ": "
	}
	say := func(format string, values ...any) { p.result.Verdict = why + fmt.Sprintf(format, values...) }
	buffer := p.plan.Removals[0]
	name, waited := model.Printable(buffer.From.Name), time.Since(p.sent).Round(time.Millisecond)
	counts, err := p.client.Count(ctx, []model.QueueRef{buffer.From})
	err = cmp.Or(err, silent(counts, buffer.From))
	depth := counts[buffer.From].Ready.Or(0)
	overdue := waited > p.plan.TTL.Or(0)
	if err == nil && depth > 1 && (overdue || p.plan.Expiration != "") {
		if p.collect(ctx, p.plan.Removals[1:]) > 0 {
			say("it was found behind the DLX, but dlxtop did not see it pass")
			return
		}
		p.result.Left = buffer.From.Name
		say("it was not seen to leave %s within %s, where %s wait: most likely it waits behind others, and it is left "+
			"there, as taking it out would let others pass", name, model.ShortDuration(waited), model.Plural(depth, "message"))
		return
	}
	var account plan.Account
	if err == nil {
		account, err = p.client.Execute(ctx, buffer.On(nil), nil)
	}
	switch {
	case err == nil && account.Dropped > 0:
		p.step(trace.ProbeRemoved, buffer.From.Name, time.Now(), "")
		words := "its TTL has not run out"
		if overdue {
			words = "its TTL has run out and nothing is in front of it, but the queue does not expire it"
		}
		say("it was still in %s after %s: %s", name, model.ShortDuration(waited), words)
	case err != nil:
		p.result.Left = buffer.From.Name
		say("it was last seen when it entered %s, and dlxtop could not look for it: %s", name, err)
	case p.collect(ctx, p.plan.Removals[1:]) > 0:
		say("it was found behind the DLX, but dlxtop did not see it pass")
	default:
		p.result.Left = p.missing()
		say("it was last seen when it entered %s, and is not there any more: something consumed it there, or it was "+
			"lost at %s", name, model.Printable(model.ExchangeName(p.plan.DLX)))
	}
}
