package model

import (
	"fmt"
	"time"
)

// FindingsIn finds what only the messages of a queue tell, once they were peeked: heads that block what is due before them,
// delivery counts near the limit, copies that a replay cannot bring back. takenAt is the time of the peek.
func (t *Topology) FindingsIn(ref QueueRef, messages []Message, takenAt time.Time) []Finding {
	q, ok := t.queues[ref]
	if !ok || len(messages) == 0 {
		return nil
	}
	var findings []Finding
	for _, check := range []func(*Topology, *Queue, []Message, time.Time) (Finding, bool){
		findBlockingHead, findNearDeliveryLimit, findCopies, findPublishersAhead, findPoison,
	} {
		if f, ok := check(t, q, messages, takenAt); ok {
			f.VHost, f.Queue = q.VHost, q.Name
			findings = append(findings, f)
		}
	}
	return findings
}

// Only the head of a queue expires: a message whose own TTL ends before that of one ahead of it waits for that one (all versions).
// The TTL of the queue is the same for all of them, and blocks nothing.
func findBlockingHead(t *Topology, q *Queue, messages []Message, takenAt time.Time) (Finding, bool) {
	if !t.settings[q.QueueRef].DLX.Set {
		return Finding{}, false
	}
	waits := t.WaitsIn(q.QueueRef, Peeked{Messages: messages, TakenAt: takenAt}, Sight{})
	if waits == nil {
		return Finding{}, false
	}
	blocked, ok := waits.Blocked(takenAt)
	if !ok {
		return Finding{}, false
	}
	f := Finding{
		Code: "head-of-line-blocked", Level: LevelWarning,
		Message:  blocked.Words(takenAt),
		Evidence: fmt.Sprintf("%d of %d that were looked at are past their time; message %d has %s", blocked.Past, blocked.Seen, blocked.By.Position, blocked.By.TTLWords()),
		Remedy:   "one buffer for each TTL, with the TTL on the queue: then nothing waits for another",
	}
	if blocked.By.Due.Kind == DueUnknown {
		f.Level = LevelError
	}
	return f, true
}

func its(n int) string {
	if n == 1 {
		return "its"
	}
	return "their"
}

// A quorum queue drops or dead-letters a message when its delivery count passes the limit.
func findNearDeliveryLimit(t *Topology, q *Queue, messages []Message, _ time.Time) (Finding, bool) {
	limit := t.settings[q.QueueRef].DeliveryLimit
	if q.Type != Quorum || !limit.Set || limit.Value < 0 {
		return Finding{}, false
	}
	near, most := 0, int64(0)
	for i := range messages {
		if n, ok := messages[i].Headers.Integer("x-delivery-count"); ok {
			most = max(most, n)
			if n >= limit.Value-2 {
				near++
			}
		}
	}
	if near == 0 || most == 0 {
		return Finding{}, false
	}
	becomes := "lost"
	if t.settings[q.QueueRef].DLX.Set {
		becomes = "dead-lettered"
	}
	return Finding{
		Code: "delivery-count-near-limit", Level: LevelWarning,
		Message:  fmt.Sprintf("%s near the delivery limit: what comes back once or twice more is %s", are(int64(near), "message"), becomes),
		Evidence: fmt.Sprintf("x-delivery-count up to %d, delivery-limit %s", most, limit),
		Remedy:   "do not look at it again on a broker before 4.3; replay or drop, or raise the limit by policy",
	}, true
}

// CC and BCC sent copies to further queues: a replay leaves them away, so that queues which had their copy do not get another.
func findCopies(_ *Topology, _ *Queue, messages []Message, _ time.Time) (Finding, bool) {
	n := 0
	for i := range messages {
		h := messages[i].Headers
		if h["CC"] != nil || h["BCC"] != nil {
			n++
		}
	}
	if n == 0 {
		return Finding{}, false
	}
	return Finding{
		Code: "copies", Level: LevelInfo,
		Message:  fmt.Sprintf("%s copied to further queues by CC: replayed with it, %s copies would come again, so a replay leaves CC away", has(n, "message"), its(n)),
		Evidence: "header CC or BCC",
		Remedy:   "replay to an exchange and key of your choice if the other queues should have it too",
	}, true
}

func has(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return Plural(n, noun) + " were"
}
