package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// TestDeliveryTime: from 4.4 on a quorum queue confirms such a message and keeps it back, so a replay takes the header
// off unless it is asked to keep it; then an undo that does not find the copy does not say that it is gone.
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
				Operation: Replay, From: build.Ref("failed"), Sample: message.MessageList{m}, Planned: 1, Mode: ToQueue,
				Fixed: model.Address{RoutingKey: "orders"}, KeepDelay: test.keep, User: "guest",
			})
			words := ""
			for _, w := range run.Warnings {
				words += w.Words() + "\n"
			}
			if strings.Join(run.Strips, " ") != test.strips || !strings.Contains(words, test.warning) ||
				test.warning == "" && strings.Contains(words, "x-opt-delivery") {
				t.Errorf("strips %s, says %s", run.Strips, words)
			}
			p, err := run.Publishing(&m)
			if err != nil || (p.Headers[message.DeliveryTimeHeader] == nil) != (test.strips != "") {
				t.Error(err, p.Headers)
			}
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
