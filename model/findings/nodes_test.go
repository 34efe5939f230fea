package findings

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// replicas makes a quorum queue with members on a, b, c, …, of which the first are online.
func replicas(members, online int) build.Setting {
	return func(q *model.Queue) {
		q.Type = model.Quorum
		for i := range members {
			q.Members = append(q.Members, string(rune('a'+i)))
		}
		q.Online = append([]string{}, q.Members[:online]...)
	}
}

func state(words, node string) build.Setting {
	return func(q *model.Queue) { q.State, q.Node = words, node }
}

func nodes(all ...model.Node) build.Part { return func(s *model.Snapshot) { s.Nodes = all } }

func up(name string) model.Node { return model.Node{Name: name, Running: true} }

func TestNodeFindings(t *testing.T) {
	codes := []string{"queue-down", "quorum-at-risk", "node-down", "memory-alarm", "disk-alarm", "partition"}
	alarmed := model.Node{
		Name: "a", Running: true, MemAlarm: true, DiskAlarm: true,
		MemUsed: model.Some[int64](3 << 30), MemLimit: model.Some[int64](2 << 30),
	}
	for _, c := range []struct {
		name  string
		parts []build.Part
		want  string // code and level of each, and a word of its sentence
	}{
		{"a classic queue that runs", []build.Part{build.Queue("q", state("running", "b")), nodes(up("a"), up("b"))}, ""},
		{
			"its node is down",
			[]build.Part{build.Queue("q", state("down", "b")), nodes(up("a"), model.Node{Name: "b"})},
			"node-down error 1 queue is unavailable; queue-down error its node b is down",
		},
		{"nodes are unknown", []build.Part{build.Queue("q", state("down", "b"))}, "queue-down error its node b is down"},
		{"a node without queues is down", []build.Part{build.Queue("q", state("running", "a")), nodes(up("a"),
			model.Node{Name: "b"})}, "node-down warning no queue is unavailable"},
		{"all members online", []build.Part{build.Queue("q", replicas(3, 3)), nodes(up("a"), up("b"), up("c"))}, ""},
		{"one member is down", []build.Part{build.Queue("q", replicas(3, 2))}, "quorum-at-risk warning becomes " +
			"unavailable"},
		{"one of five is down", []build.Part{build.Queue("q", replicas(5, 4))}, ""},
		{"two of five are down", []build.Part{build.Queue("q", replicas(5, 3))}, "quorum-at-risk warning " +
			"becomes unavailable"},
		{"no majority", []build.Part{build.Queue("q", replicas(3, 1))}, "queue-down error only 1 of its 3 members"},
		{"half is no majority", []build.Part{build.Queue("q", replicas(2, 1))}, "queue-down error comes back when b starts"},
		{"none", []build.Part{build.Queue("q", replicas(1, 0))}, "queue-down error only 0 of its 1 members"},
		{"one member on one node", []build.Part{build.Queue("q", replicas(1, 1)), nodes(up("a"))}, ""},
		{
			"one member of three nodes",
			[]build.Part{build.Queue("q", replicas(1, 1)), nodes(up("a"), up("b"), up("c"))},
			"quorum-at-risk info 1 member",
		},
		{
			"two members of three nodes",
			[]build.Part{build.Queue("q", replicas(2, 2)), nodes(up("a"), up("b"), up("c"))},
			"quorum-at-risk info 2 members",
		},
		{"members unknown", []build.Part{build.Queue("q", build.OfType(model.Quorum)), nodes(up("a"), up("b"))}, ""},
		{"alarms", []build.Part{nodes(alarmed)}, "disk-alarm error disk alarm on a; memory-alarm error memory alarm on a"},
		{"a partition", []build.Part{nodes(model.Node{Name: "a", Running: true, Partitions: []string{"b", "c"}},
			up("b"))}, "partition error cut off from b, c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "; ")
			}
			for _, f := range Of(build.TopologyOf("3.10.8", c.parts...)) {
				if !slices.Contains(codes, f.Code) {
					continue
				}
				i := slices.IndexFunc(want, func(w string) bool {
					start := f.Code + " " + string(f.Level) + " "
					return strings.HasPrefix(w, start) && strings.Contains(f.Message, strings.TrimPrefix(w, start))
				})
				if i < 0 {
					t.Errorf("unexpected: %s %s %s", f.Code, f.Level, f.Message)
					continue
				}
				want = slices.Delete(want, i, i+1)
				assert.That(t, f.Evidence != "" && f.Remedy != "" && (!strings.Contains(f.Evidence, "?") ||
					strings.Contains(f.Code, "disk")), "%+v", f)
			}
			assert.That(t, len(want) == 0, "not found: %q", want)
		})
	}
}

// What goes into a queue that is down is refused before, or warned of when others receive it, too.
func TestPlansIntoQueuesThatAreDown(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("failed", build.Ready(3)),
		build.Queue("w", state("down", "rabbit@b")), build.Queue("other"),
		build.Exchange("fanout", "all"), build.Bind("all", "", "w"), build.Bind("all", "", "other"))
	want := plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("failed"), Planned: 3, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: "w"},
	}
	if p := plan.New(topology, want); !strings.Contains(p.Refusal.Words(), "its node rabbit@b is down") {
		t.Errorf("refusal %q", p.Refusal.Words())
	}
	want.Mode, want.Fixed = target.ToExchange, model.Address{Exchange: "all"}
	p := plan.New(topology, want)
	assert.That(t, !p.Refusal.Refused() && slices.ContainsFunc(p.Warnings,
		func(w plan.Warning) bool { return strings.Contains(w.Words(), "it receives nothing until then") }),
		"refusal %q, warnings %+v", p.Refusal.Words(), p.Warnings)
	want.Mode, want.Fixed = target.ToQueue, model.Address{RoutingKey: "other"}
	if p := plan.New(topology, want); p.Refusal.Refused() || len(p.Warnings) > 1 {
		t.Errorf("refusal %q, warnings %+v", p.Refusal.Words(), p.Warnings)
	}
}

// Whatever publishes tells before that publishers are blocked; a drop does not publish.
func TestPlansInAnAlarm(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("failed", build.Ready(3)), build.Queue("w", build.Consumers(1)),
		nodes(model.Node{Name: "rabbit@a", Running: true, DiskAlarm: true}))
	says := func(warnings []plan.Warning) bool {
		return slices.ContainsFunc(warnings, func(w plan.Warning) bool {
			return strings.HasPrefix(w.Words(), "disk alarm on rabbit@a: RabbitMQ blocks publishers")
		})
	}
	want := plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("failed"), Planned: 3, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: "w"}, Journaled: true,
	}
	if p := plan.New(topology, want); !says(p.Warnings) || p.Refusal.Refused() {
		t.Errorf("a replay: %+v %q", p.Warnings, p.Refusal.Words())
	}
	want.Operation = plan.Drop
	if p := plan.New(topology, want); says(p.Warnings) {
		t.Errorf("a drop: %+v", p.Warnings)
	}
	if p := plan.ForImport(topology, plan.ImportWant{To: build.Ref("w"), Sizes: []int64{1}}); !says(p.Warnings) {
		t.Errorf("an import: %+v", p.Warnings)
	}
	undo, err := plan.ForUndo(topology, plan.UndoWant{Record: plan.Record{
		Operation: plan.Drop,
		From:      build.Ref("failed"),
	}, Entries: func(func(*plan.Entry) error) error { return nil }})
	assert.That(t, err == nil && says(undo.Warnings), "an undo: %+v %v", undo.Warnings, err)
}
