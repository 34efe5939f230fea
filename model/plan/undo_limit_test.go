package plan

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// dropHeadTargets are queues that messages were sent to, and what may have become of those that are gone from there.
var dropHeadTargets = []struct {
	name   string
	worker []build.Setting
	parts  []build.Part
	digest bool // the journal does not have the messages whole
	counts model.QueueCounts
	want   GoneWhy
	insist GoneWhy
}{
	{name: "full", worker: []build.Setting{maxLength(5), build.Ready(5)}, want: GoneLimit, insist: GoneLimit},
	{name: "full by a newer count", worker: []build.Setting{maxLength(5)}, counts: model.QueueCounts{
		Ready:     model.Some[int64](5),
		Consumers: model.Some[int64](0),
	}, want: GoneLimit, insist: GoneLimit},
	{name: "no longer full", worker: []build.Setting{maxLength(5), build.Ready(4)}, want: GoneEither, insist: GoneInsists},
	{
		name: "a consumer", worker: []build.Setting{maxLength(5), build.Ready(5), build.Consumers(1)}, want: GoneEither,
		insist: GoneInsists,
	},
	{
		name: "a consumer by a newer count", worker: []build.Setting{maxLength(5), build.Ready(5)},
		counts: model.QueueCounts{
			Ready:     model.Some[int64](5),
			Consumers: model.Some[int64](1),
		}, want: GoneEither, insist: GoneInsists,
	},
	{name: "a consumer was there", worker: []build.Setting{
		maxLength(5), build.Ready(5),
		func(q *model.Queue) { q.Acked = model.Some[int64](3) },
	}, want: GoneEither, insist: GoneInsists},
	{
		name: "they expire", worker: []build.Setting{maxLength(5), build.Ready(5), build.TTL(1000)}, want: GoneEither,
		insist: GoneInsists,
	},
	{
		name: "dead-lettered", worker: []build.Setting{maxLength(5), build.Ready(5), build.DLX("")}, want: GoneEither,
		insist: GoneInsists,
	},
	{
		name: "bytes, full", worker: []build.Setting{maxBytes(55), build.Ready(5), readyBytes(50)}, want: GoneLimit,
		insist: GoneLimit,
	},
	{
		name: "bytes, with room", worker: []build.Setting{maxBytes(60), build.Ready(5), readyBytes(50)}, want: GoneEither,
		insist: GoneInsists,
	},
	{
		name: "not whole", worker: []build.Setting{maxLength(5), build.Ready(5)}, digest: true, want: GoneUnkept,
		insist: GoneUnkept,
	},
	{name: "no limit", worker: []build.Setting{build.Ready(5)}, want: GoneTaken, insist: GoneTaken},
	{name: "it refuses instead", worker: []build.Setting{
		maxLength(5), build.Ready(5),
		build.Argument("x-overflow", "reject-publish"),
	}, want: GoneTaken, insist: GoneTaken},
}

// TestUndoFromADropHeadTarget: what a limit may have dropped comes back from the journal where nothing else can have
// taken it.
func TestUndoFromADropHeadTarget(t *testing.T) {
	whole := &message.Message{Properties: message.Properties{MessageID: "m"}, BodyBytes: 10}
	for _, test := range dropHeadTargets {
		topology := build.TopologyOf("3.10.8", append(test.parts, build.Queue("failed"), build.Queue("worker",
			test.worker...))...)
		entry := Entry{Position: 1, Outcome: Moved, Sent: &Sent{
			Fingerprint: message.Fingerprint{1},
			Reached:     []string{"worker"},
		}}
		if !test.digest {
			entry.Message = whole
		}
		for insist, want := range map[bool]GoneWhy{false: test.want, true: test.insist} {
			plan, err := ForUndo(topology, UndoWant{
				Record: Record{ID: 1, Operation: Move, From: build.Ref("failed"), Broker: "b"}, Broker: "b", Insist: insist,
				Counts:  map[model.QueueRef]model.QueueCounts{build.Ref("worker"): test.counts},
				Entries: func(each func(*Entry) error) error { return each(&entry) },
			})
			must.That(t, err == nil && !plan.Refusal.Refused() && len(plan.Takes) == 1, "%s: %v %+v", test.name, err, plan)
			assert.Equal(t, plan.Gone(), want, "%s, insisting %t", test.name, insist)
			if want != GoneTaken && strings.Contains(plan.Gone().Words(), "consumer") != (want != GoneLimit) {
				t.Errorf("%s: %s", test.name, plan.Gone().Words())
			}
		}
	}
}

// TestUndoIntoALimit: the queue that messages come back to may drop some, too.
func TestUndoIntoALimit(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("failed", build.Ready(4), maxLength(5)))
	m := message.Message{Properties: message.Properties{MessageID: "m"}}
	var entries []Entry
	for i := range 3 {
		e := NewEntry(&m, nil, false)
		e.Position, e.Outcome = i+1, Dropped
		entries = append(entries, e)
	}
	want := UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref("failed"), Broker: "b"}, Broker: "b",
		Entries: func(each func(*Entry) error) error {
			for i := range entries {
				if err := each(&entries[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	plan, err := ForUndo(topology, want)
	if err != nil || !strings.Contains(plan.Refusal.Words(), "2 messages would be dropped: 2 of the 4 that it holds") ||
		!plan.Refusal.Overridable() {
		t.Errorf("%v %q (%q)", err, plan.Refusal.Words(), plan.Refusal.Override())
	}
	want.Insist = true
	if plan, err = ForUndo(topology, want); err != nil || plan.Refusal.Refused() || len(plan.Losses) != 1 ||
		!strings.Contains(strings.Join(warned(plan.Warnings), "\n"), "would be dropped") {
		t.Errorf("%v %q %q", err, plan.Refusal.Words(), warned(plan.Warnings))
	}
}
