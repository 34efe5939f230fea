package broker

import (
	"context"
	"time"
)

// pace keeps a rate. golang.org/x/time/rate would, too, but it gives up early when the next turn is after ctx's
// deadline: an execution would stop without a reason.
type pace struct {
	rate float64 // per second; 0 is no limit
	next time.Time
}

// wait returns when the next may go, or the context's error.
func (p *pace) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil || p.rate <= 0 {
		return err
	}
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	if d := p.next.Sub(now); d > 0 {
		if err := pause(ctx, d); err != nil {
			return err
		}
	}
	p.next = p.next.Add(time.Duration(float64(time.Second) / p.rate))
	return nil
}

// pause waits, or returns the context's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
