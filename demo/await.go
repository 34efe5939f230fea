package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// giveUp is an error that makes until stop trying.
type giveUp struct{ error }

// Unwrap is for errors.Is and errors.As.
func (g giveUp) Unwrap() error { return g.error }

// until tries again and again, pausing in between, until there is no error, a giveUp, or ctx ends; then the error is
// what ctx says and what was tried last.
func until(ctx context.Context, pause time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		var final giveUp
		if errors.As(err, &final) {
			return final.error
		}
		if !wait(ctx, pause) {
			return fmt.Errorf("%w (last: %w)", context.Cause(ctx), err)
		}
	}
}

// wait returns true after d, and false as soon as ctx ends.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
