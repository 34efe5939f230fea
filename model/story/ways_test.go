package story_test

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

func TestWays(t *testing.T) {
	sent := func(key string, cc ...any) message.Message {
		return message.Message{Exchange: "delay", RoutingKey: key, Headers: model.Table{"CC": cc}}
	}
	stated := func(worker string) message.Message {
		m := sent("user:save.created", "delay.5s")
		m.Headers["rascal"] = model.Table{"originalQueue": worker}
		return m
	}

	counted := stated("user:save")
	counted.Headers["rascal"].(model.Table)["recovery"] = model.Table{"user:save": model.Table{"forwarded": int64(1)}}

	read := func(all ...message.Message) []message.Message { return all }
	type expected struct {
		Name, In string
		Read     []message.Message
		To       string // from the delaying queue
		From     string // whose workers sent the messages here
		Lost     int
		Counted  bool // by an application
	}

	for _, test := range append(must.Cases[expected](t, "testdata/ways.toml"), []expected{
		{"nowhere, by the key that brought it here", "delay:5s", read(sent("delay.5s"), sent("delay.5s")), "", "", 2, false},
		{"nowhere, though nothing visible brought it here: BCC did", "delay:5s", read(sent("other")), "", "", 0, false},
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
	}...) {
		t.Run(test.Name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", append(build.CopyKeyParts,
				build.Text("queue keyed ttl=1 dlx=retry key=user:save.x"))...)

			w := story.WaysFrom(topology, build.Ref(test.In))
			for i := range test.Read {
				w.See(&test.Read[i])
			}

			want := map[model.QueueRef][]model.QueueRef{}
			if test.To != "" {
				want[build.Ref("delay:5s")] = build.Refs(strings.Fields(test.To)...)
			}

			assert.Same(t, want, w.Seen().To)
			from := model.Names(w.Seen().From[build.Ref(test.In)])
			assert.Equal(t, strings.ReplaceAll(from, ", ", " "), test.From, "from")
			assert.Equal(t, w.Seen().Counted[build.Ref(test.In)], test.Counted, "tries are counted")
			n, keys := w.Lost()
			assert.Equal(t, n, test.Lost)
			assert.Equal(t, keys == "", n == 0, "%d lost, by the keys %q; want %d", n, keys, test.Lost)
		})
	}
}
