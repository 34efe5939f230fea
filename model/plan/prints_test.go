package plan

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// An undo of a record with fingerprints of another kind does not look for its messages. Insisting can restore messages
// from the journal, but not those that must be found where they were sent.
func TestUndoOfOtherFingerprints(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Queue("failed", build.Ready(1)), build.Queue("worker", build.Ready(1)))
	m := &message.Message{RoutingKey: "k", Body: []byte("m")}
	m.Identify()
	dropped, rescued := NewEntry(m, nil, false), NewEntry(m, nil, false)
	dropped.Outcome, rescued.Outcome = Unsure, Unsure
	rescued.Sent = &Sent{Reached: []string{"failed"}}
	sent := Entry{Fingerprint: m.Fingerprint, Outcome: Unsure, Sent: &Sent{Reached: []string{"worker"}}}
	whole := sent
	whole.Message = m
	for _, test := range []struct {
		operation Operation
		entry     Entry
		says      string
		restores  int // with insisting
	}{
		{Drop, dropped, "in the queue, and cannot be recognized there", 1},
		{Rescue, rescued, "in the queue, and cannot be recognized there", 1},
		{Replay, sent, "cannot be recognized where they were sent to", 0},
		{Move, whole, "cannot be recognized where they were sent to", 0},
	} {
		for _, insist := range []bool{false, true} {
			want, err := UndoWant{
				Record: Record{ID: 7, Operation: test.operation, From: build.Ref("failed"), Broker: "b", OtherPrints: true},
				Broker: "b", Insist: insist, Entries: func(each func(*Entry) error) error { e := test.entry; return each(&e) },
			}.Looked(topology, Reads{Look: func(peek.Plan, func(*message.Message) error) (string, error) {
				t.Errorf("%s: it looks", test.operation)
				return "", nil
			}})
			must.Do(t, err)
			p := must.Get(ForUndo(topology, want))(t)
			may := insist && test.restores > 0
			assert.That(t, p.Refusal.Refused() != may && (may || strings.Contains(p.Refusal.Words(), test.says)) &&
				(may || p.Refusal.Overridable() == (test.restores > 0)) && (!may || p.Restores == test.restores),
				"%s, insisting %v: %d restored, %q", test.operation, insist, p.Restores, p.Refusal.Words())
		}
	}
}
