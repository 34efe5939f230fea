package findings

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Loss of messages that keep their keys is an error only when something shows it.
func TestUnroutableOwnKeys(t *testing.T) {
	// the worker has got dead letters: 2 published, 6 acknowledged
	arrived := func(s *model.Snapshot) {
		for i := range s.Queues {
			if s.Queues[i].Name == "user:save" {
				build.Counted(2, 6)(&s.Queues[i])
			}
		}
	}
	for _, test := range []struct {
		name  string
		parts []build.Part
		want  []string
	}{
		{"nothing shows that they arrive", nil, []string{"warning dead-letter-unroutable delay:5s"}},
		{"the statistics show it", []build.Part{arrived}, nil},
		{"another buffer explains the statistics", []build.Part{
			arrived, build.Queue("other", build.TTL(1000), build.DLX(""), build.DeadKey("user:save")),
		}, []string{"warning dead-letter-unroutable delay:5s"}},
		{"messages show it", []build.Part{build.Seen("delay:5s", "user:save")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := Of(build.TopologyOf("4.0.5", slices.Concat(build.CopyKeyParts, test.parts)...))
			found = slices.DeleteFunc(found, func(f Finding) bool { return f.Code != "dead-letter-unroutable" })
			assert.NoDiff(t, cmp.Diff(test.want, codes(found)))
		})
	}
	t.Run("what leaves and arrives nowhere is lost", func(t *testing.T) {
		still := model.Movement{In: model.Some(0.0), Dead: model.Some(0.0)}
		moves := model.Moves{
			build.Ref("delay:5s"):  {In: model.Some(2.0), Dead: model.Some(2.0)},
			build.Ref("user:save"): still, build.Ref("user:delete"): still,
		}
		topology := build.TopologyOf("4.0.5", build.CopyKeyParts...)
		want := []string{"error losing-now delay:5s"}
		assert.NoDiff(t, cmp.Diff(want, codes(LosingNow(topology, moves, 12*time.Second))))
		moves[build.Ref("user:save")] = model.Movement{In: model.Some(2.0)}
		if found := LosingNow(topology, moves, 12*time.Second); len(found) > 0 {
			t.Error(codes(found))
		}
	})
}

// A retry queue that its worker declares when it needs it is there at some polls; a failed queue that is gone is gone.
func TestQueuesThatAreThereAtSomePolls(t *testing.T) {
	worker := []build.Part{
		build.Exchange("direct", "x"), build.Queue("w", build.DLX("x"), build.DeadKey("k"), build.Consumers(1)),
	}
	lease := build.Argument("x-expires", int64(6000))
	for _, test := range []struct {
		name    string
		dead    build.Part
		want    Level
		because string
	}{
		{
			"a retry queue", build.Queue("r", build.TTL(3000), build.DLX(""), build.DeadKey("w"), lease), LevelWarning,
			"at an earlier poll they went to r",
		},
		{"a failed queue", build.Queue("r", lease), LevelError, "no queue is reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			with := append([]build.Part{test.dead, build.Bind("x", "k", "r")}, worker...)
			topology := build.TopologyOf("4.0.5", with...)
			for range 2 { // it is remembered
				topology = topology.Next(build.Broker("4.0.5", worker...))
			}
			found := Of(topology)
			assert.That(t, len(found) == 1 && found[0].Level == test.want && strings.Contains(found[0].Evidence, test.because),
				"%+v", found)
		})
	}
}
