package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// main shares the key "k" of the exchange "x" with audit, and dead-letters by the messages' own keys.
func shared(parts ...build.Part) []build.Part {
	return append([]build.Part{
		build.Exchange("direct", "x"), build.Queue("main", build.DLX("dlx"), build.Consumers(1)), build.Queue("audit"),
		build.Bind("x", "k", "main"), build.Bind("x", "k", "audit"), build.Queue("failed"),
	}, parts...)
}

func rejectedBy(queue, exchange string, keys ...string) message.Message {
	return message.Message{
		Exchange: "dlx", RoutingKey: keys[0], Headers: model.Table{"region": "eu"},
		Deaths: []message.Death{{
			Queue: queue, Reason: model.Rejected, Count: 1, Exchange: exchange, RoutingKeys: keys,
		}},
	}
}

// What becomes of a copy that fails again, and which way is taken so that it is not lost.
func TestSecondFailure(t *testing.T) {
	direct := []build.Part{build.Exchange("direct", "dlx"), build.Bind("dlx", "k", "failed")}
	retried := []build.Part{
		build.Exchange("fanout", "dlx"), build.Bind("dlx", "", "wait"),
		build.Queue("wait", build.TTL(1000), build.DLX("back")), build.Exchange("direct", "back"),
		build.Bind("back", "k", "main"),
	}
	for _, test := range []struct {
		name  string
		parts []build.Part
		m     message.Message // zero: rejected in main, through x with k
		to    string          // "": auto
		way   string          // "EXCHANGE KEY"
		again string          // words of the refusal; "": it is not refused
		warns string
	}{
		{
			name: "the dead-letter exchange has no queue for the name", parts: shared(direct...), way: " main",
			again: "messages that fail again in main are lost: the dead-letter exchange dlx leads to no queue for the " +
				"key main (for k it does)",
		},
		{name: "named", parts: shared(direct...), to: "queue:main", way: " main", again: "are lost"},
		{
			name:  "another exchange leads to the worker alone with the key",
			parts: shared(append(direct, build.Exchange("topic", "own"), build.Bind("own", "#", "main"))...), way: "own k",
		},
		{
			name: "any key will do", parts: shared(build.Exchange("fanout", "dlx"), build.Bind("dlx", "", "failed")),
			way: " main",
		},
		{
			name: "a topic takes the name", parts: shared(build.Exchange("topic", "dlx"), build.Bind("dlx", "#", "failed")),
			way: " main",
		},
		{
			name: "by the queues' names", parts: shared(build.Exchange("direct", "dlx"), build.Bind("dlx", "main", "failed")),
			way: " main",
		},
		{
			name: "the application's own are lost, too", parts: shared(build.Exchange("direct", "dlx")), way: " main",
			warns: "it loses the application's own messages, too",
		},
		{name: "headers decide", parts: shared(build.Exchange("headers", "dlx"),
			build.BindHeaders("dlx", "failed", model.Table{"region": "eu"})), way: " main"},
		{name: "a copy has no CC", parts: []build.Part{
			build.Exchange("direct", "x"), build.Queue("main", build.DLX("dlx"), build.Consumers(1)),
			build.Bind("x", "k", "main"), build.Queue("failed"), build.Exchange("direct", "dlx"),
			build.Bind("dlx", "copy", "failed"),
		}, m: rejectedBy("main", "x", "k", "copy"), way: "x k", again: "leads to no queue for the key k (for copy it does)"},
		{name: "the retry buffer's way back has the key", parts: shared(retried...), way: "back k"},
		{
			name: "lost behind a retry buffer", parts: shared(retried...), to: "queue:main",
			way: " main", again: "after wait, the dead-letter exchange back leads to no queue for the key main",
		},
		{
			name: "kept by a retry buffer that comes back", parts: shared(build.Exchange("fanout", "dlx"),
				build.Queue("wait", build.TTL(1000), build.DLX(""), build.DeadKey("main")), build.Bind("dlx", "", "wait")),
			way: " main",
		},
		{name: "kept by at-least-once", parts: []build.Part{
			build.Exchange("direct", "x"), build.Queue("main", build.DLX("dlx"), build.Consumers(1), build.AtLeastOnce),
			build.Queue("audit"), build.Bind("x", "k", "main"), build.Bind("x", "k", "audit"), build.Queue("failed"),
			build.Exchange("direct", "dlx"), build.Bind("dlx", "k", "failed"),
		}, way: " main"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := test.m
			if m.Deaths == nil {
				m = rejectedBy("main", "x", "k")
			}
			topology := build.TopologyOf("4.0.5", test.parts...)
			want := wantTo(t, topology, "failed", test.to, m)
			p := New(topology, want)
			must.That(t, len(p.Ways) == 1 && p.Ways[0].Exchange+" "+p.Ways[0].RoutingKey == test.way,
				"ways %+v, not %s", p.Ways, test.way)
			words := p.Refusal.Words()
			assert.That(t, p.Refusal.Refused() == (test.again != "") && strings.Contains(words, test.again),
				"refused: %q, not %q", words, test.again)
			if !strings.Contains(strings.Join(warned(p.Warnings), "\n"), test.warns) {
				t.Errorf("warns %q", warned(p.Warnings))
			}
			run := p.On(topology)
			if _, err := run.Publishing(&m); (err != nil) != (test.again != "") {
				t.Errorf("published: %v", err)
			}
			want.Insist = true
			insisted := New(topology, want)
			run = insisted.On(topology)
			_, err := run.Publishing(&m)
			grave := slices.ContainsFunc(insisted.Warnings, Warning.Grave)
			if err != nil || insisted.Refusal.Refused() || insisted.KeepsWhole() != (test.again != "") ||
				grave != (test.again != "") {
				t.Errorf("insisted: %v, %s, whole %t, grave %t", err, insisted.Refusal.Words(), insisted.KeepsWhole(), grave)
			}
			again := New(topology, want)
			if was, is := insisted.Promise(), again.Promise(); len(was.Changes(&is)) > 0 {
				t.Errorf("changes: %s", ChangesWords(was.Changes(&is)))
			}
		})
	}
}

// The same rule for what goes to a queue by its name: a move, an import, an undo.
func TestSecondFailureElsewhere(t *testing.T) {
	topology := build.TopologyOf("4.0.5", shared(build.Exchange("direct", "dlx"), build.Bind("dlx", "k", "failed"),
		build.Queue("wait", build.TTL(1000), build.DLX("x")), build.Bind("dlx", "wait", "wait"))...)
	move := wantTo(t, topology, "failed", "queue:main", rejectedBy("main", "x", "k"))
	move.Operation = Move
	if p := New(topology, move); !strings.Contains(p.Refusal.Words(), "fail again in main are lost") {
		t.Errorf("a move: %q", p.Refusal.Words())
	}
	if p := ForImport(topology, ImportWant{To: build.Ref("main"), Sizes: []int64{1}}); !p.Refusal.Refused() ||
		!p.Refusal.Overridable() {
		t.Errorf("an import: %q", p.Refusal.Words())
	}
	edit := wantTo(t, topology, "failed", "exchange:x/k", rejectedBy("main", "x", "k"))
	if edit.Mend = programmed(t, `.exchange = "" | .routing_key = "main"`); New(topology, edit).Again == nil {
		t.Error("an edit: not refused")
	}
	kept := message.Message{Exchange: "dlx", RoutingKey: "wait", Headers: model.Table{"CC": []any{"k"}}}
	p, err := ForUndo(topology, UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref("wait")},
		Entries: func(each func(*Entry) error) error {
			return each(&Entry{Position: 1, Address: model.Address{RoutingKey: "wait"}, Message: &kept, Outcome: Dropped})
		},
	})
	assert.That(t, err == nil && strings.Contains(p.Refusal.Words(), "(for k it does)"),
		"an undo into a buffer: %q, %v", p.Refusal.Words(), err)
}
