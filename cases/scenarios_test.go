package cases

import (
	"context"
	"testing"

	"github.com/dlxtop/dlxtop/demo"
)

// The systems of the demo work: with their traffic there is no error in any of them, but for a queue that is left alone
// on purpose.
func TestScenariosOfTheDemo(t *testing.T) {
	var situations []situation
	stuck := map[string][]string{"lifecycle": {"error worker-without-consumers example.delay.heaven: stuck in it"}}
	for _, scenario := range demo.Scenarios() {
		situations = append(situations, situation{
			name: scenario.Name, from: "the demo", says: stuck[scenario.Name],
			traffic: func(w *world) {
				ctx, cancel := context.WithCancel(w.Context())
				ended := make(chan error, 1) // room for the one result
				go func() { ended <- scenario.Run(ctx, w.node.AMQP()+w.vhost) }()
				w.Cleanup(func() {
					cancel()
					if err := <-ended; err != nil {
						w.Error(err)
					}
				})
				w.await("all its queues are there", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) >= len(scenario.Queues())
				})
			},
		})
	}
	play(t, situations...)
}
