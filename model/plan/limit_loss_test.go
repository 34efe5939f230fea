package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

func readyBytes(n int64) build.Setting { return func(q *model.Queue) { q.ReadyBytes = model.Some(n) } }
func maxLength(n int64) build.Setting  { return build.Argument("x-max-length", n) }
func maxBytes(n int64) build.Setting   { return build.Argument("x-max-length-bytes", n) }

// sized are messages with bodies of these sizes.
func sized(sizes ...int) message.MessageList {
	list := make(message.MessageList, len(sizes))
	for i, n := range sizes {
		list[i].BodyBytes = n
	}
	return list
}

// twelve are messages of 10 bytes each.
var twelve = sized(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10)

// limitLosses are plans for these messages, to a queue w.
var limitLosses = []struct {
	name   string
	parts  []build.Part
	sample message.MessageList
	more   int // planned beyond the sample
	want   string
}{
	{"it fits", []build.Part{build.Queue("w", build.Ready(3), maxLength(15))}, twelve, 0, ""},
	{"no limit", []build.Part{build.Queue("w", build.Ready(3))}, twelve, 0, ""},
	{
		"it refuses instead",
		[]build.Part{build.Queue("w", build.Ready(3), maxLength(5), build.Argument("x-overflow", "reject-publish"))},
		twelve, 0, "",
	},
	{
		"all that it holds and some of these",
		[]build.Part{build.Queue("w", build.Ready(3), maxLength(5))},
		twelve, 0,
		"w keeps at most 5 messages (argument, overflow drop-head) and holds 3: " +
			"10 messages would be dropped: the 3 that it holds and 7 of these 12",
	},
	{
		"some of what it holds",
		[]build.Part{build.Queue("w", build.Ready(20), maxLength(30))},
		twelve, 0,
		"2 messages would be dropped: 2 of the 20 that it holds",
	},
	{
		"it is empty",
		[]build.Part{build.Queue("w", maxLength(5))},
		twelve, 0,
		"holds 0: 7 messages would be dropped: 7 of these 12",
	},
	{"it keeps none", []build.Part{build.Queue("w", maxLength(0))}, sized(1), 0, "keeps at most 0 messages"},
	{
		"by a policy",
		[]build.Part{build.Queue("w", build.Ready(3), build.Policy("cap", model.Table{"max-length": int64(5)}))},
		twelve, 0,
		"5 messages (policy cap, overflow drop-head)",
	},
	{"the lower of argument and policy", []build.Part{build.Queue("w", maxLength(14), build.Policy("cap",
		model.Table{"max-length": int64(11)}))}, twelve, 0, "1 message would be dropped: 1 of these 12"},
	{
		"consumers",
		[]build.Part{build.Queue("w", build.Ready(3), maxLength(5), build.Consumers(2))},
		twelve, 0,
		"holds 3: unless consumers take them before, 10 messages would be dropped",
	},
	{
		"unknown depth",
		[]build.Part{build.Queue("w", maxLength(5), func(q *model.Queue) { q.Ready = model.Unknown[int64]() })},
		twelve, 0,
		"dlxtop does not know how full it is",
	},
	{
		"beyond the sample",
		[]build.Part{build.Queue("w", maxLength(50))},
		twelve, 48,
		"10 messages would be dropped: 10 of these 60",
	},
	{"bytes, it fits", []build.Part{build.Queue("w", build.Ready(3), readyBytes(30), maxBytes(150))}, twelve, 0, ""},
	{
		"bytes, all that it holds and the first of these",
		[]build.Part{build.Queue("w", build.Ready(3), readyBytes(30), maxBytes(105))},
		twelve, 0,
		"w keeps at most 105B (argument, overflow drop-head) and holds 3: " +
			"5 messages would be dropped: the 3 that it holds and 2 of these 12",
	},
	{
		"bytes, some of what it holds",
		[]build.Part{build.Queue("w", build.Ready(3), readyBytes(30), maxBytes(145))},
		twelve, 0,
		"up to 1 message would be dropped: 1 of the 3 that it holds",
	},
	{
		"bytes, one is larger than the limit",
		[]build.Part{build.Queue("w", maxBytes(100))},
		sized(10, 200, 10), 0,
		"2 messages would be dropped: 2 of these 3",
	},
	{
		"bytes that nobody told",
		[]build.Part{build.Queue("w", build.Ready(3), maxBytes(1000))},
		twelve, 0,
		"dlxtop does not know how full it is",
	},
	{
		"the worse of two limits",
		[]build.Part{build.Queue("w", build.Ready(3), readyBytes(30), maxLength(14), maxBytes(105))},
		twelve,
		0, "5 messages would be dropped",
	},
	{
		"dead-lettered",
		[]build.Part{
			build.Queue("w", maxLength(5), build.DLX("dead")), build.Exchange("fanout", "dead"),
			build.Queue("aside"), build.Bind("dead", "",
				"aside"),
		},
		twelve, 0,
		"7 of these 12; its dead-letter exchange dead takes them to aside",
	},
	{
		"dead-lettered to nobody",
		[]build.Part{build.Queue("w", maxLength(5), build.DLX("dead")), build.Exchange("fanout", "dead")},
		twelve,
		0, "dead takes them to no queue",
	},
}

func TestLimitLoss(t *testing.T) {
	for _, test := range limitLosses {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("3.10.8", append(test.parts, build.Queue("f", build.Ready(12), readyBytes(120)))...)
			want := ActionWant{
				Operation: Move, From: build.Ref("f"), Sample: test.sample, Planned: len(test.sample) + test.more,
				Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"}, Journaled: true,
			}
			plan := New(topology, want)
			if test.want == "" {
				assert.That(t, !plan.Refusal.Refused() && plan.Losses == nil && !plan.Whole, "refused: %s", plan.Refusal.Words())
				return
			}
			if !strings.Contains(plan.Refusal.Words(), test.want) || !plan.Refusal.Overridable() || plan.Whole {
				t.Errorf("%q (%q), want something with %q", plan.Refusal.Words(), plan.Refusal.Override(), test.want)
			}
			want.Insist = true
			if plan = New(topology, want); plan.Refusal.Refused() || !plan.Whole ||
				!strings.Contains(strings.Join(warned(plan.Warnings), "\n"), test.want) {
				t.Errorf("insisted: %q, whole %t, warnings %q", plan.Refusal.Words(), plan.Whole, warned(plan.Warnings))
			}
		})
	}
}

// TestLimitLossByNewerCounts: statistics are some seconds late, and what a queue holds decides.
func TestLimitLossByNewerCounts(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("f"), build.Queue("w", maxLength(5)))
	want := ActionWant{
		Operation: Move, From: build.Ref("f"), Sample: sized(1, 1), Planned: 2, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: "w"},
	}
	plan := New(topology, want)
	if plan.Refusal.Refused() || !slices.Equal(plan.Limited(topology), build.Refs("w")) {
		t.Fatalf("%q, to be counted: %v", plan.Refusal.Words(), plan.Limited(topology))
	}
	want.Counts = map[model.QueueRef]model.QueueCounts{build.Ref("w"): {
		Ready:     model.Some[int64](4),
		Consumers: model.Some[int64](0),
	}}
	if plan = New(topology, want); len(plan.Losses) != 1 || plan.Losses[0].Old != 1 || plan.Losses[0].Ours != 0 {
		t.Errorf("%+v", plan.Losses)
	}
	want.Insist = true
	if plan = New(topology, want); plan.Whole || !strings.Contains(strings.Join(warned(plan.Warnings), "\n"),
		"without the journal, lost messages cannot be brought back") {
		t.Errorf("whole %t: %v", plan.Whole, warned(plan.Warnings))
	}
}

func TestImportIntoALimit(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("w", build.Ready(3), maxLength(5)),
		build.Queue("late", build.TTL(1000), build.Consumers(1)))
	want := ImportWant{To: build.Ref("w"), Sizes: []int64{1, 1, 1}}
	if plan := ForImport(topology, want); !strings.Contains(plan.Refusal.Words(),
		"1 message would be dropped: 1 of the 3 that it holds") || plan.Planned != 3 || !plan.Refusal.Overridable() {
		t.Errorf("%+v", plan)
	}
	want.Insist = true
	if plan := ForImport(topology, want); plan.Refusal.Refused() {
		t.Error(plan.Refusal.Words())
	}
	if plan := ForImport(topology, ImportWant{To: build.Ref("nowhere")}); !strings.Contains(plan.Refusal.Words(),
		"there is no queue nowhere") || plan.Refusal.Overridable() {
		t.Errorf("%+v", plan)
	}
	if plan := ForImport(topology, ImportWant{To: build.Ref("late"), Sizes: []int64{1}}); len(plan.Warnings) != 1 ||
		!strings.Contains(plan.Warnings[0].Words(), "expires its messages") {
		t.Errorf("%q", warned(plan.Warnings))
	}
}
