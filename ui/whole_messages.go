package ui

import (
	"context"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// wholeMessages calls with the whole messages of rows, in the order of the queue.
func wholeMessages(ctx context.Context, rows []*messageRow, each func(*message.Message) error) error {
	for _, r := range slices.SortedFunc(slices.Values(rows), byPosition) {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := r.peeked.At(int(r.index), 0)
		if err != nil {
			return err
		}
		if err := each(&m); err != nil {
			return err
		}
	}
	return nil
}
