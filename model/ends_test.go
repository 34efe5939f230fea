package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

	for _, test := range must.Cases[expected](t, "testdata/failed_queues_with_a_dead_letter_exchange.toml") {
		t.Run(test.Name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.Parts...)
			assert.NoDiff(t, cmp.Diff(test.Want, build.Told(topology.Flows())))

			var alone, reasons []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}

			assert.NoDiff(t, cmp.Diff(test.Alone, alone))
			for _, f := range topology.Flows() {
				for _, m := range f.Failed {
					reasons = append(reasons, m.Reason)
				}
			}

			assert.Contains(t, strings.Join(reasons, "\n"), test.Reason)
		})
	}
}
