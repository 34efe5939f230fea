package story_test

import (
	"strings"
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
	rejected := message.Message{Deaths: []message.Death{{Queue: "delay:5s", Reason: model.Rejected}}}

	read := func(all ...message.Message) []message.Message { return all }
	for _, test := range []struct {
		name, in string
		read     []message.Message
		to       string // from the delaying queue
		from     string // whose workers sent the messages here
		lost     int
		counted  bool // by an application
	}{
		{"by CC", "delay:5s", read(sent("user:save.created", "delay.5s")), "user:save", "", 0, false},
		{
			"to several, each once", "delay:5s",
			read(sent("user:save.a", "delay.5s"), sent("user:delete.b", "delay.5s"), sent("user:save.c", "delay.5s")),
			"user:delete user:save", "", 0, false,
		},
		{"nowhere, by the key that brought it here", "delay:5s", read(sent("delay.5s"), sent("delay.5s")), "", "", 2, false},
		{"nowhere, though nothing visible brought it here: BCC did", "delay:5s", read(sent("other")), "", "", 0, false},
		{
			"somewhere, as its death in the buffer says", "user:save",
			read(died("delay:5s", "user:save.created", "delay.5s")), "user:save", "", 0, false,
		},
		{"a death in a queue that is gone", "user:save", read(died("gone", "user:save.created")), "", "", 0, false},

		{
			"a queue with a dead-letter key: the messages' own do not matter", "keyed",
			read(sent("user:delete.x")), "", "", 0, false,
		},
		{
			"a framework wrote down whose worker sent it", "delay:5s",
			read(stated("user:save"), stated("user:save"), stated("user:delete")),
			"user:save", "user:delete user:save", 0, false,
		},
		{
			"a framework counts its tries, too", "delay:5s",
			read(sent("user:save.created", "delay.5s"), counted), "user:save", "user:save", 0, true,
		},
		{"a framework wrote down a queue that is gone", "delay:5s", read(stated("user:gone")), "user:save", "", 0, false},
		{
			"it expired here before, and is back", "delay:5s",
			read(died("delay:5s", "user:save.created", "delay.5s")), "user:save", "user:save", 0, false,
		},
		{"it expired here before, by the key of the queue", "keyed", read(died("keyed", "any")), "", "user:save", 0, false},
		{"it was rejected here before: that is another matter", "delay:5s", read(rejected), "", "", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", append(build.CopyKeyParts,
				build.Text("queue keyed ttl=1 dlx=retry key=user:save.x"))...)

			w := story.WaysFrom(topology, build.Ref(test.in))
			for i := range test.read {
				w.See(&test.read[i])
			}

			want := map[model.QueueRef][]model.QueueRef{}
			if test.to != "" {
				want[build.Ref("delay:5s")] = build.Refs(strings.Fields(test.to)...)
			}

			assert.NoDiff(t, cmp.Diff(want, w.Seen().To))
			from := model.Names(w.Seen().From[build.Ref(test.in)])
			assert.Equal(t, strings.ReplaceAll(from, ", ", " "), test.from, "from")
			assert.Equal(t, w.Seen().Counted[build.Ref(test.in)], test.counted, "tries are counted")
			n, keys := w.Lost()
			assert.Equal(t, n, test.lost)
			assert.Equal(t, keys == "", n == 0, "%d lost, by the keys %q; want %d", n, keys, test.lost)
		})
	}
}
