package ui

import (
	"context"

	"dlxtop/model"
)

// Source tells what is on the broker. Errors that a person can act on are *model.ConnectError.
type Source interface {
	Snapshot(ctx context.Context) (*model.Snapshot, error)
}

// Broker looks at messages and acts on them.
type Broker interface {
	Peek(ctx context.Context, plan model.PeekPlan) (model.Peeked, error)
	// Execute runs a plan. progress is called from another goroutine, about ten times a second and once at the end.
	Execute(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error)
	// User is the connected user.
	User() string
}
