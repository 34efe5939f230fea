package ports

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
)

// Source reports what is on the broker. Errors that a user can act on are *model.ConnectError.
type Source interface {
	Snapshot(ctx context.Context) (*model.Snapshot, error)
	// Current is a Snapshot with fresh policies, whose age is not that of the statistics, for an action about to run.
	Current(ctx context.Context) (*model.Snapshot, error)
	// Counts are the current counts of all queues, in one request.
	Counts(ctx context.Context) (map[model.QueueRef]model.QueueCounts, error)
	// Connections are the names of the connections that the user may see.
	Connections(ctx context.Context) ([]string, error)
}
