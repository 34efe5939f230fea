package shell

import (
	"context"
	"fmt"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func TestErrorsAreReadable(t *testing.T) {
	late := fmt.Errorf("peek q: %w", context.DeadlineExceeded)
	assert.Equal(t, ReadableError(late), "no answer in time: the broker is busy, or what was asked for is large")
	assert.Equal(t, ReadableError(fmt.Errorf("peek q: %w", model.ErrQueueGone)), model.ErrQueueGone.Error())
}
