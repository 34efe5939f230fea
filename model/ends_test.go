package model_test

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
)

// A dead-letter exchange that many queues have says nothing about one of them.
func TestFailedQueuesWithADeadLetterExchange(t *testing.T) {
	type expected struct {
		Name   string
		Parts  []build.Part
		Want   []string
		Alone  []string
		Reason string // of a failed queue
	}

	must.Run(t, "testdata/failed_queues_with_a_dead_letter_exchange.toml", func(t *testing.T, test expected) {
		topology := build.TopologyOf("4.0.5", test.Parts...)
		assert.Same(t, test.Want, build.Told(topology.Flows()))

		var alone, reasons []string
		for _, m := range topology.FailedWithoutFlow() {
			alone = append(alone, m.Queue.String())
		}

		assert.Same(t, test.Alone, alone)
		for _, f := range topology.Flows() {
			for _, m := range f.Failed {
				reasons = append(reasons, m.Reason)
			}
		}

		assert.Contains(t, strings.Join(reasons, "\n"), test.Reason)
	})
}
