package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// TestDeliveryTime: from 4.4 on a quorum queue confirms such a message and keeps it back, so a replay takes the header
// off unless it is asked to keep it; then an undo that does not find the copy does not say that it is gone. An import
// and an edit do the same.
func TestDeliveryTime(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	m := failedBy("orders", model.Table{message.DeliveryTimeHeader: now.Add(time.Hour).UnixMilli()}, message.Properties{})
	for _, test := range []struct {
		version  string
		keep     bool
		strips   string
		warning  string
		gone     GoneWhy
		undoSays string
	}{
		{"4.3.6", false, "", "", GoneTaken, ""},
		{"4.4.0", false, message.DeliveryTimeHeader, "in 1h: x-opt-delivery-time is removed", GoneTaken, ""},
		{"4.4.0", true, "", "RabbitMQ confirms them, and keeps them back", GoneWaits, "kept back by RabbitMQ until the time"},
		{"5.0.0", false, message.DeliveryTimeHeader, "(--keep-delay keeps it)", GoneTaken, ""},
	} {
		t.Run(test.version, func(t *testing.T) {
			topology := build.TopologyOf(test.version, build.Queue("failed"), build.Queue("orders"))
			topology.Snapshot.TakenAt = now
			run := newRun(topology, ActionWant{
				Operation: Replay, From: build.Ref("failed"), Sample: message.MessageList{m}, Planned: 1, Mode: target.ToQueue,
				Fixed: model.Address{RoutingKey: "orders"}, KeepDelay: test.keep, User: "guest",
			})
			words := strings.Join(warned(run.Warnings), "\n")
			file := ImportWant{To: build.Ref("orders"), KeepDelay: test.keep}
			file.Add(topology, &m)
			imported := ForImport(topology, file)
			says := strings.Join(warned(imported.Warnings), "\n")
			assert.That(t, strings.Contains(says, test.warning) && (test.warning != "" || !strings.Contains(says, "x-opt")) &&
				strings.Join(imported.Strips, " ") == test.strips, "an import strips %s, says %s", imported.Strips, says)
			edited := newRun(topology, ActionWant{
				Operation: Replay, From: build.Ref("failed"), Sample: message.MessageList{m}, Planned: 1, Mode: target.ToQueue,
				Fixed: model.Address{RoutingKey: "orders"}, KeepDelay: test.keep, User: "guest",
				Mend: programmed(t, `.headers["x-opt-delivery-time"] = 4102444800000`),
			})
			if words := strings.Join(warned(edited.Warnings), "\n"); edited.Refusal.Refused() != (test.strips != "") ||
				test.keep && !strings.Contains(words, test.warning) {
				t.Errorf("an edit: %s, %s", edited.Refusal.Words(), words)
			}
			assert.That(t, strings.Join(run.Strips, " ") == test.strips && strings.Contains(words, test.warning) &&
				(test.warning != "" || !strings.Contains(words, "x-opt-delivery")), "strips %s, says %s", run.Strips, words)
			p, err := run.Publishing(&m)
			assert.That(t, err == nil && (p.Headers[message.DeliveryTimeHeader] == nil) == (test.strips != ""),
				"%v %v", err, p.Headers)
			e := NewEntry(&m, &p, false)
			e.Outcome = Moved
			undo, err := ForUndo(topology, UndoWant{
				Record:  Record{Operation: Replay, From: build.Ref("failed"), Intent: run.Intent(1), Ended: now},
				Entries: func(each func(*Entry) error) error { return each(&e) }, User: "guest",
			})
			if err != nil || undo.Gone() != test.gone || !strings.Contains(undo.Gone().Words(), test.undoSays) {
				t.Error(err, undo.Gone(), undo.Refusal.Words())
			}
		})
	}
}

// TestUndoBringsDelayBack: what an undo puts into its queue is kept back there from 4.4 on, which it says. An undo
// after one whose outcome is unknown leaves it, as no look can tell whether it came back.
func TestUndoBringsDelayBack(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	m := failedBy("orders", model.Table{message.DeliveryTimeHeader: now.UnixMilli() + 3_600_000}, message.Properties{})
	sent := message.Publishing{Properties: m.Properties, Body: m.Body, Reaches: build.Refs("orders")}
	for version, delays := range map[string]bool{"4.3.6": false, "4.4.0": true} {
		topology := build.TopologyOf(version, build.Queue("failed"), build.Queue("orders"))
		topology.Snapshot.TakenAt = now
		for _, publishing := range []*message.Publishing{nil, &sent} {
			for _, before := range [][]Attempt{nil, {{By: 3}}} {
				e := NewEntry(&m, publishing, false)
				e.Outcome, e.Undoing = Moved, before
				undo, err := ForUndo(topology, UndoWant{
					Record:  Record{ID: 2, From: build.Ref("failed"), Ended: now},
					Entries: func(each func(*Entry) error) error { return each(&e) }, User: "guest",
					There: map[message.Fingerprint]int{},
				})
				says := strings.Contains(strings.Join(warned(undo.Warnings), "\n"), "keeps them back until then")
				first := len(before) == 0
				assert.That(t, err == nil && undo.Refusal.Refused() == (delays && !first) && undo.Delayed == (delays && first) &&
					says == undo.Delayed && (len(undo.Takes) == 0 || undo.Takes[0].Intent(1).KeepDelay == delays),
					"%s, sent: %v, undone before: %v: %s, %+v, %v", version, publishing != nil, !first, undo.Refusal.Words(), undo,
					err)
			}
		}
	}
}
