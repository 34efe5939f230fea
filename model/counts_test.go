package model_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// TestConfirmedConsumers: a worker that has just started is one before the statistics know of it, and what dlxtop reads
// is none by that.
func TestConfirmedConsumers(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("mail"), build.Queue("letters"))
	worker, read := model.QueueRef{VHost: "/", Name: "mail"}, model.QueueRef{VHost: "/", Name: "letters"}
	one := model.Some[int64](1)
	confirmed := topology.Confirmed(map[model.QueueRef]model.QueueCounts{
		worker: {Consumers: one}, read: {Consumers: one, Held: true},
	}, false)
	assert.Equal(t, confirmed.Queues[worker].Consumers, one, "the worker")
	n := confirmed.Queues[read].Consumers
	assert.That(t, n.Or(0) == 0, "what dlxtop read has %v consumers", n)
}
