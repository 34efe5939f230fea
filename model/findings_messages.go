package model

import (
	"fmt"
	"time"
)

// FindingsIn finds what only the messages of a queue tell, once they were peeked: heads that block what is due before them,
// delivery counts near the limit, copies that a replay cannot bring back. takenAt is the time of the peek. Messages that cannot be
// read are left out.
func (t *Topology) FindingsIn(ref QueueRef, messages Messages, takenAt time.Time) []Finding {
	q, ok := t.queues[ref]
	if !ok || messages.Len() == 0 {
		return nil
	}
	checks := []messageCheck{
		&nearDeliveryLimit{queue: q, settings: t.settings[ref]}, &copies{}, &publishersAhead{clock: t.Snapshot.Overview.Clock(), takenAt: takenAt},
		newPoison(t, q, takenAt),
	}
	_ = each(messages, 0, func(m *Message) {
		for _, check := range checks {
			check.see(m)
		}
	})
	var findings []Finding
	found := func(f Finding, ok bool) {
		if ok {
			f.VHost, f.Queue = q.VHost, q.Name
			findings = append(findings, f)
		}
	}
	found(t.findBlockingHead(q, messages, takenAt))
	for _, check := range checks {
		found(check.finding())
	}
	return findings
}

// messageCheck sees the messages of a queue one by one, and then says what is wrong with them.
type messageCheck interface {
	see(m *Message)
	finding() (Finding, bool)
}

// Only the head of a queue expires: a message whose own TTL ends before that of one ahead of it waits for that one (all versions).
// The TTL of the queue is the same for all of them, and blocks nothing.
func (t *Topology) findBlockingHead(q *Queue, messages Messages, takenAt time.Time) (Finding, bool) {
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

// nearDeliveryLimit: a quorum queue drops or dead-letters a message when its delivery count passes the limit.
type nearDeliveryLimit struct {
	queue    *Queue
	settings Settings

	near int
	most int64
}

func (l *nearDeliveryLimit) see(m *Message) {
	limit := l.settings.DeliveryLimit
	if l.queue.Type != Quorum || !limit.Set || limit.Value < 0 {
		return
	}
	if n, ok := m.Headers.Integer("x-delivery-count"); ok {
		l.most = max(l.most, n)
		if n >= limit.Value-2 {
			l.near++
		}
	}
}

func (l *nearDeliveryLimit) finding() (Finding, bool) {
	if l.near == 0 || l.most == 0 {
		return Finding{}, false
	}
	becomes := "lost"
	if l.settings.DLX.Set {
		becomes = "dead-lettered"
	}
	return Finding{
		Code: "delivery-count-near-limit", Level: LevelWarning,
		Message:  fmt.Sprintf("%s near the delivery limit: what comes back once or twice more is %s", are(int64(l.near), "message"), becomes),
		Evidence: fmt.Sprintf("x-delivery-count up to %d, delivery-limit %s", l.most, l.settings.DeliveryLimit),
		Remedy:   "do not look at it again on a broker before 4.3; replay or drop, or raise the limit by policy",
	}, true
}

// copies: CC and BCC sent copies to further queues. A replay leaves them away, so that queues which had their copy do not get another.
type copies struct{ n int }

func (c *copies) see(m *Message) {
	if m.Headers["CC"] != nil || m.Headers["BCC"] != nil {
		c.n++
	}
}

func (c *copies) finding() (Finding, bool) {
	if c.n == 0 {
		return Finding{}, false
	}
	return Finding{
		Code: "copies", Level: LevelInfo,
		Message:  fmt.Sprintf("%s copied to further queues by CC: replayed with it, %s copies would come again, so a replay leaves CC away", has(c.n, "message"), its(c.n)),
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
