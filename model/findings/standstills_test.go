package findings

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// Circles, crashes, queues that stand still, and those that are deleted with what waits in them: what is found, and
// what is not.
func TestLoopsAndStandstills(t *testing.T) {
	codes := []string{
		"shovel-down", "shovel-no-worker", "shovel-unconfirmed", "shovel-loop", "no-active-consumer",
		"no-acknowledgements", "dead-letters-return", "requeue-loop", "messages-go-with-queue",
	}

	states := map[string]build.Setting{
		"no active consumer":  func(q *model.Queue) { q.SingleActive, q.NoneActive = true, true },
		"one active consumer": func(q *model.Queue) { q.SingleActive = true },
		"held": func(q *model.Queue) {
			q.HeldFor, q.Unacked, q.Consumers = 5*time.Minute, build.Some(12), build.Some(2)
		},
		"crashing": func(q *model.Queue) {
			q.RedeliverRate, q.Ready, q.Redelivered = model.Some(0.6), build.Some(1), build.Some(40)
		},
		"auto-delete": func(q *model.Queue) { q.AutoDelete = true },
		"exclusive":   func(q *model.Queue) { q.Exclusive = true },
	}

	type expected struct {
		Name, Version string
		Parts         []build.Part
		States        map[string]string
		Shovels       []model.Shovel
		Want, Says    string
	}

	must.Run(t, "testdata/standstills.toml", func(t *testing.T, test expected) {
		s := build.Broker(test.Version, test.Parts...)
		s.Shovels = test.Shovels
		for q := range model.Each(s.Queues) {
			if state, odd := test.States[q.Name]; odd {
				states[state](q)
			}
		}

		var found []string
		said := ""
		for _, f := range Of(model.NewTopology(s)) {
			if slices.Contains(codes, f.Code) {
				found = append(found, string(f.Level)+" "+f.Code+" "+f.Queue)
				said += f.Message + "\n"
			}
		}

		assert.Equal(t, strings.Join(found, "; "), test.Want)
		assert.Contains(t, said, test.Says)
	})
}

// A worker on a failed queue crashes, and no poll but perhaps the first finds it connected. One poll looks the
// same when someone peeks; several do not.
func TestCrashesOnAFailedQueue(t *testing.T) {
	var topology *model.Topology
	crashes := func(consumers int64, every time.Duration, totals ...int64) bool {
		topology = nil
		for _, n := range totals {
			s := build.Broker("4.0.5", build.Text(`
				queue jobs consumers=1 dlx= key=jobs.failed
				queue jobs.failed ready=1
			`))
			q := &s.Queues[1]
			q.Consumers, q.RedeliverRate, q.Redelivered = model.Some(consumers), model.Some(0.6), model.Some(n)
			s.TakenAt = s.TakenAt.Add(time.Duration(n) * every)
			topology, consumers = topology.Next(s), 0
		}

		return slices.Contains(codes(Of(topology)), "error requeue-loop jobs.failed")
	}

	assert.That(t, crashes(1, time.Second, 1, 40), "not found, though it was connected at an earlier poll")
	assert.That(t, crashes(0, time.Second, 40, 44, 44, 47, 51), "not found by several polls")
	assert.That(t, crashes(0, 2*time.Second, 6, 8, 10, 12), "not found, though the broker counts more than the polls saw")
	assert.That(t, !crashes(0, 2*time.Second, 2, 4, 6, 8), "found before ten rounds")
	assert.That(t, !crashes(0, time.Second, 40), "found, though it may have been a peek")
	assert.That(t, !crashes(0, time.Second, 41, 42, 43, 44), "found, though somebody peeked three times")
	assert.That(t, !crashes(0, 5*time.Second, 40, 44, 47, 51), "found, though somebody peeks now and then")

	crashes(0, time.Second, 40, 44)
	topology.Queues[build.Ref("jobs.failed")].RedeliverRate = model.Some(0.0) // between two crashes
	assert.Equal(t, len(LoopsToWatch(topology)), 1, "queues to watch on")
}

// What another queue counted in a message is neither this queue's loop nor near its limit.
func TestCountsOfAnotherQueue(t *testing.T) {
	type expected struct {
		Name, Version string
		Kind          model.QueueType
		Again         int64  // redeliveries that this queue counted
		Message       string // in JSON
		Deaths        []message.Death
		Want          string
	}
	must.Run(t, "testdata/counts_of_another_queue.toml", func(t *testing.T, test expected) {
		topology := build.TopologyOf(test.Version, build.Queue("q", build.OfType(test.Kind), build.Consumers(1),
			build.DeliveryLimit(6), func(q *model.Queue) { q.Redelivered = model.Some(test.Again) }))
		m := must.Get(message.ParseMessage([]byte(test.Message)))(t)
		m.Position, m.Redelivered, m.Deaths = 1, true, test.Deaths

		r := ReadingOf(topology, build.Ref("q"), build.Noon, nil)
		r.See(&m)

		var found []string
		for _, f := range r.Found() {
			found = append(found, f.Code)
		}
		assert.Equal(t, strings.Join(found, "; "), test.Want)
	})
}
