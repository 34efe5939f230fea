package cases

import (
	"testing"

	"github.com/dlxtop/dlxtop/model/build"
)

// Messages that come back to where they have been.
func TestLoops(t *testing.T) {
	play(t,
		situation{
			name: "a worker that gives back what it gets", from: "a BaseQueueService (c09)",
			parts: []build.Part{
				build.Exchange("direct", "dead-letters"), build.Queue("emails", build.DLX("dead-letters"), build.TTL(3_600_000)),
			},
			traffic: func(w *world) {
				w.work("emails", slowly(requeues))
				w.publish("", "emails", "e1")
				w.awaitSeen("emails", "e1", 20)
			},
			says: []string{"error dead-letter-unroutable emails", "error requeue-loop emails"},
		},
	)
}
