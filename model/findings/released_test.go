package findings

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// TestReleasedForEver: what a worker releases again and again is found by the counts of its messages, and neither what
// counts towards the limit nor what only looks return.
func TestReleasedForEver(t *testing.T) {
	for _, c := range []struct {
		name, version     string
		consumers         int64
		acquired, counted int64
		found             bool
	}{
		{"released", "4.3.6", 1, 1722, 0, true},
		{"rejected", "4.3.6", 1, 120, 110, false},
		{"looked at", "4.3.6", 0, 1722, 0, false},
		{"before 4.3", "4.0.5", 1, 1722, 0, false},
	} {
		topology := build.TopologyOf(c.version, build.Queue("q", build.OfType(model.Quorum), build.Ready(1)))
		q, _ := topology.Queue(build.Ref("q"))
		q.Consumers = model.Some(c.consumers)
		r := ReadingOf(topology, q.QueueRef, time.Now(), nil)
		r.See(&message.Message{Position: 1, Redelivered: true, Headers: model.Table{
			"x-acquired-count": c.acquired, "x-delivery-count": c.counted,
		}})
		found := false
		for _, f := range r.Found() {
			found = found || f.Code == "requeue-loop"
		}
		assert.Equal(t, found, c.found, "%s", c.name)
	}
}
