package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A poll under way reads what was seen before: a new look leaves that as it was.
func TestWhatWasSeenBefore(t *testing.T) {
	type ways = map[model.QueueRef][]model.QueueRef
	before := model.Seen{}.With(model.Seen{To: ways{build.Ref("buffer"): build.Refs("b")}})
	after := before.With(model.Seen{}).With(model.Seen{
		To:   ways{build.Ref("buffer"): build.Refs("a"), build.Ref("other"): build.Refs("c")},
		From: ways{build.Ref("buffer"): build.Refs("w")}, Counted: map[model.QueueRef]bool{build.Ref("buffer"): true},
	})
	assert.NoDiff(t, cmp.Diff(model.Seen{To: ways{build.Ref("buffer"): build.Refs("b")}}, before))
	assert.NoDiff(t, cmp.Diff(model.Seen{
		To:   ways{build.Ref("buffer"): build.Refs("a", "b"), build.Ref("other"): build.Refs("c")},
		From: ways{build.Ref("buffer"): build.Refs("w")}, Counted: map[model.QueueRef]bool{build.Ref("buffer"): true},
	}, after))
}

// A buffer that publishers fill as far as bindings tell: messages in it say which of its workers sends them back.
func TestBuffersThatWorkersFillByThemselves(t *testing.T) {
	ladder := build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28)
	for _, test := range []struct {
		name   string
		parts  []build.Part
		buffer string
		want   map[string]model.Role // by the worker
	}{
		{
			"nothing was looked at", build.CopyKeyParts, "delay:5s",
			map[string]model.Role{"user:save": model.DelayedBuffer, "user:delete": model.DelayedBuffer},
		},
		{
			"one of its workers does", with(build.CopyKeyParts, build.SentInto("delay:5s", "user:save")), "delay:5s",
			map[string]model.Role{"user:save": model.RetryBuffer, "user:delete": model.DelayedBuffer},
		},
		{
			"a queue that it does not lead to", with(build.CopyKeyParts, build.Queue("other", build.Consumers(1)),
				build.SentInto("delay:5s", "other")), "delay:5s",
			map[string]model.Role{"user:save": model.DelayedBuffer, "user:delete": model.DelayedBuffer},
		},
		{
			"one of several levels", with(ladder, build.Endpoint("w"),
				build.SentInto("nsb.v2.delay-level-05", "w")), "nsb.v2.delay-level-00",
			map[string]model.Role{"w": model.RetryBuffer},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			roles := map[string]model.Role{}
			for _, f := range topology.Flows() {
				roles[f.Name] = f.Role(build.Ref(test.buffer))
			}
			if diff := cmp.Diff(test.want, roles); diff != "" {
				t.Errorf("%s\n%v", diff, build.Told(topology.Flows()))
			}
		})
	}
}
