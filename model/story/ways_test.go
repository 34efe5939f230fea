package story_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

func TestWays(t *testing.T) {
	sent := func(key string, cc ...any) message.Message {
		return message.Message{Exchange: "delay", RoutingKey: key, Headers: model.Table{"CC": cc}}
	}
	died := func(queue string, keys ...string) message.Message {
		return message.Message{Deaths: []message.Death{{Queue: queue, Reason: model.Expired, RoutingKeys: keys}}}
	}
	stated := func(worker string) message.Message {
		m := sent("user:save.created", "delay.5s")
		m.Headers["rascal"] = model.Table{"originalQueue": worker}
		return m
	}
	counted := stated("user:save")
	counted.Headers["rascal"].(model.Table)["recovery"] = model.Table{"user:save": model.Table{"forwarded": int64(1)}}
	type ways = map[model.QueueRef][]model.QueueRef
	for _, test := range []struct {
		name  string
		in    string
		parts []build.Part
		read  []message.Message
		want  ways
		lost  int
		from  []model.QueueRef // whose workers sent what is here

		counted bool // by an application
	}{
		{
			"by CC", "delay:5s", nil,
			[]message.Message{sent("user:save.created", "delay.5s")},
			ways{build.Ref("delay:5s"): build.Refs("user:save")},
			0, nil, false,
		},
		{
			"to several, each once", "delay:5s", nil,
			[]message.Message{
				sent("user:save.a", "delay.5s"), sent("user:delete.b", "delay.5s"), sent("user:save.c", "delay.5s"),
			},
			ways{build.Ref("delay:5s"): build.Refs("user:delete", "user:save")},
			0, nil, false,
		},
		{
			"nowhere, by the key that brought it here", "delay:5s", nil,
			[]message.Message{sent("delay.5s"), sent("delay.5s")},
			ways{},
			2, nil, false,
		},
		{
			"nowhere, though nothing visible brought it here: BCC did", "delay:5s", nil,
			[]message.Message{sent("other")},
			ways{},
			0, nil, false,
		},
		{
			"somewhere, as its death in the buffer says", "user:save", nil,
			[]message.Message{died("delay:5s", "user:save.created", "delay.5s")},
			ways{build.Ref("delay:5s"): build.Refs("user:save")},
			0, nil, false,
		},
		{
			"a death in a queue that is gone", "user:save", nil,
			[]message.Message{died("gone", "user:save.created")},
			ways{},
			0, nil, false,
		},
		{
			"a queue with a dead-letter key: the messages' own do not matter", "keyed",
			[]build.Part{build.Queue("keyed", build.TTL(1), build.DLX("retry"), build.DeadKey("user:save.x"))},
			[]message.Message{sent("user:delete.x")},
			ways{},
			0, nil, false,
		},
		{
			"a framework wrote down whose worker sent it", "delay:5s", nil,
			[]message.Message{stated("user:save"), stated("user:save"), stated("user:delete")},
			ways{build.Ref("delay:5s"): build.Refs("user:save")},
			0, build.Refs("user:delete", "user:save"), false,
		},
		{
			"a framework counts its tries, too", "delay:5s", nil,
			[]message.Message{sent("user:save.created", "delay.5s"), counted},
			ways{build.Ref("delay:5s"): build.Refs("user:save")},
			0, build.Refs("user:save"), true,
		},
		{
			"a framework wrote down a queue that is gone", "delay:5s", nil,
			[]message.Message{stated("user:gone")},
			ways{build.Ref("delay:5s"): build.Refs("user:save")},
			0, nil, false,
		},
		{
			"it expired here before, and is back", "delay:5s", nil,
			[]message.Message{died("delay:5s", "user:save.created", "delay.5s")},
			ways{build.Ref("delay:5s"): build.Refs("user:save")},
			0, build.Refs("user:save"), false,
		},
		{
			"it expired here before, by the key of the queue", "keyed",
			[]build.Part{build.Queue("keyed", build.TTL(1), build.DLX("retry"), build.DeadKey("user:save.x"))},
			[]message.Message{died("keyed", "any")},
			ways{},
			0, build.Refs("user:save"), false,
		},
		{
			"it was rejected here before: that is another matter", "delay:5s", nil,
			[]message.Message{{Deaths: []message.Death{{Queue: "delay:5s", Reason: model.Rejected}}}},
			ways{},
			0, nil, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", append(test.parts, build.CopyKeyParts...)...)
			w := story.WaysFrom(topology, build.Ref(test.in))
			for i := range test.read {
				w.See(&test.read[i])
			}
			assert.NoDiff(t, cmp.Diff(test.want, w.Seen().To))
			assert.NoDiff(t, cmp.Diff(test.from, w.Seen().From[build.Ref(test.in)]))
			assert.Equal(t, w.Seen().Counted[build.Ref(test.in)], test.counted, "tries are counted")
			if n, keys := w.Lost(); n != test.lost || (keys == "") != (n == 0) {
				t.Errorf("%d lost, by the keys %q; want %d", n, keys, test.lost)
			}
		})
	}
}
