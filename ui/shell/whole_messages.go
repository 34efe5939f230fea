package shell

import (
	"context"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// WholeMessages calls with the whole messages of rows, in the order of the queue.
func WholeMessages(ctx context.Context, rows []*MessageRow, each func(*message.Message) error) error {
	for _, r := range slices.SortedFunc(slices.Values(rows), byPosition) {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := r.Peeked.At(int(r.Index), 0)
		if err != nil {
			return err
		}
		if err := each(&m); err != nil {
			return err
		}
	}
	return nil
}
