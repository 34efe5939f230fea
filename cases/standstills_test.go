package cases

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/model/build"
)

// An application polls a failed queue and rejects what comes back to it.
func TestPolledFailedQueue(t *testing.T) {
	play(t, situation{
		name: "basic.get and reject", from: "a policy for all queues",
		parts: []build.Part{build.Text(`
			exchange fanout dlx
			queue w
			queue dead
			bind dlx dead
			policy all .* 0 dead-letter-exchange=dlx
		`)},
		traffic: func(w *world) {
			w.work("w", rejects)
			w.publish("", "w", "m")
			w.depth("dead", 1)

			channel := w.open()
			go func() {
				for pace := time.Tick(100 * time.Millisecond); w.Context().Err() == nil; <-pace {
					d, ok, err := channel.Get("dead", false)
					if err != nil {
						return
					}
					if ok {
						_ = d.Reject(false) // an error when the test has ended
					}
				}
			}()
		},
		says: []string{"error dead-letters-return dead"},
	})
}
