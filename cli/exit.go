package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// The exit statuses.
const (
	ExitDone        = 0   // all of it was done
	ExitRefused     = 1   // something was refused, returned, gone or unknown, or there is an error-level finding
	ExitUsage       = 2   // bad usage or configuration
	ExitConnect     = 3   // cannot connect, or not allowed
	ExitInterrupted = 130 // by a signal
	ExitPipe        = 141 // nobody reads the output any more
)

// exit is an error with the status that it ends the program with. Without a cause everything has been said already.
type exit struct {
	status int
	cause  error
}

// Error implements error.
func (e *exit) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.cause.Error()
}

// Unwrap is for errors.Is and errors.As.
func (e *exit) Unwrap() error { return e.cause }

// usage is a mistake of the person or of the configuration, in one sentence.
func usage(format string, values ...any) error {
	return &exit{ExitUsage, fmt.Errorf(format, values...)}
}

// refused is what dlxtop does not do, in one sentence.
func refused(format string, values ...any) error {
	return &exit{ExitRefused, fmt.Errorf(format, values...)}
}

// notAllowed is what this connection must not do, in one sentence.
func notAllowed(format string, values ...any) error {
	return &exit{ExitConnect, fmt.Errorf(format, values...)}
}

// statusOf is the exit status of an error, and what is left to say of it ("" for nothing).
func statusOf(ctx context.Context, err error) (int, string) {
	var own *exit
	var connect *model.ConnectError
	switch {
	case errors.As(err, &own) && own.status == ExitDone:
		return ExitDone, ""
	case errors.Is(err, syscall.EPIPE): // as of any program: `| head` has seen enough
		return ExitPipe, ""
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		return ExitInterrupted, "interrupted"
	case ctx.Err() != nil && errors.As(err, &own) && own.cause == nil:
		return ExitInterrupted, ""
	case ctx.Err() != nil:
		return ExitInterrupted, err.Error()
	case err == nil:
		return ExitDone, ""
	case errors.As(err, &own) && own.cause == nil:
		return own.status, ""
	case errors.As(err, &own):
		return own.status, err.Error()
	case errors.As(err, &connect):
		return ExitConnect, err.Error()
	case errors.Is(err, plan.ErrNoRecord):
		return ExitUsage, err.Error() // as a queue that is not there
	}
	return ExitRefused, err.Error()
}
