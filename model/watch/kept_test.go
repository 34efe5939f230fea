package watch

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
)

// What no queue takes is lost, unless the queue keeps its dead letters.
func TestWhatNoQueueTakes(t *testing.T) {
	for kept, want := range map[bool]string{
		false: "5 left delay: lost, no queue takes them", true: "5 left delay: kept, no queue takes them yet",
	} {
		m := LoggedMove{Kind: MoveHop, Queue: build.Ref("delay"), N: 5, exact: true, kept: kept}
		assert.Equal(t, m.String(), want)
	}
}
