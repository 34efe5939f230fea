package plan

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// TestDoubling: what was sent before, or will be by a plan that runs first, is not sent once more, but what failed
// after that is.
func TestDoubling(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("w", build.Consumers(1)), build.Queue("a"), build.Queue("b"))
	began := time.Unix(1_700_000_000, 0)
	of := func(id string, died int64, mark string) message.Message {
		death := model.Table{"queue": "w", "reason": "rejected", "count": int64(1), "time": time.Unix(died, 0)}
		m := message.Message{Headers: model.Table{"x-death": []any{death}}, Body: []byte("{}")}
		if mark != "" {
			m.Headers[message.ReplayHeader] = mark
		}
		m.Properties.MessageID = id
		m.Deaths, _ = message.ParseDeaths(m.Headers)
		m.Identify()
		return m
	}
	before, after := began.Unix()-60, began.Unix()+60
	first := []message.Message{of("m1", before, ""), of("", before, ""), of("m2", after, "")}
	for name, test := range map[string]struct {
		from    string
		marked  bool
		planned bool // the first ones are still to be sent
		m       message.Message
		held    bool
	}{
		"a copy":                          {"b", true, false, of("m1", before, ""), true},
		"a copy, without marks":           {"b", false, false, of("m1", before, ""), true},
		"a copy that died elsewhere, too": {"b", true, false, of("m1", before-9, ""), true},
		"it failed again":                 {"b", true, false, of("m1", after, ""), false},
		"it failed again, marked": {
			"b", true, false, of("m1", before, "count=1; time=2023-11-14T22:13:20Z; replay=X"), false,
		},
		"the same failure by a clock that is ahead": {"b", true, false, of("m2", after, ""), true},
		"without marks nothing is sure of that":     {"b", false, false, of("m2", after, ""), false},
		"another message":                           {"b", true, false, of("m3", before, ""), false},
		"a copy without an id":                      {"b", true, false, of("", before, ""), true},
		"a twin without an id":                      {"a", true, false, of("", before, ""), false},
		"another death without an id":               {"b", true, false, of("", before-9, ""), false},
		"a copy of what a plan will send":           {"b", true, true, of("m2", before, ""), true},
		"a twin of what a plan will send":           {"b", true, true, of("", before, ""), true},
	} {
		d, want := NewDoubles(), ActionWant{
			Operation: Replay, From: build.Ref("a"), Sample: message.MessageList(first), Planned: 3, Mark: test.marked,
			Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"}, User: "guest",
		}
		if test.planned {
			d.Expect(topology, want)
		} else {
			d.Sender(want.From, began, test.marked)
			for i := range first {
				for _, c := range entryCopies(&first[i], []model.QueueRef{build.Ref("w")}) {
					d.Add(c)
				}
			}
		}
		want.From, want.Sample, want.Sent = build.Ref(test.from), message.MessageList{test.m}, d
		if p := New(topology, want); p.Refusal.Refused() != test.held {
			t.Errorf("%s: %q, want held %v", name, p.Refusal.Words(), test.held)
		}
		want.Doubles = true
		if p := New(topology, want); p.Refusal.Refused() {
			t.Errorf("%s: asked for, %s", name, p.Refusal.Words())
		}
	}
}
