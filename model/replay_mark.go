package model

import (
	"crypto/rand"
	"fmt"
	"time"
)

// ReplayHeader is the header that a replay adds, a table {"count": int64, "time": timestamp, "replay": text}: a message that fails again is
// recognised by it. The text names the replay that sent it last.
const ReplayHeader = "dlxtop-replay"

// NewMark names a replay: no two have the same.
func NewMark() string { return rand.Text() }

// mark notes in a publishing that m is replayed once more, by the replay of this name ("" is none).
func (p *Publishing) mark(m *Message, name string) {
	if p.Headers == nil {
		p.Headers = Table{}
	}
	n, _, _ := m.Replays()
	mark := Table{"count": n + 1, "time": time.Now().Truncate(time.Second)}
	if name != "" {
		mark["replay"] = name
	}
	p.Headers[ReplayHeader] = mark
}

// replayMark is the name of the replay that sent a message last. marked is true for every message that dlxtop replayed, also when that one
// had no name.
func (m *Message) replayMark() (name string, marked bool) {
	table, marked := m.Headers[ReplayHeader].(Table)
	name, _ = table.Text("replay")
	return name, marked
}

// MarkedBy reports whether a replay of this name sent the message.
func (m *Message) MarkedBy(name string) bool {
	mark, _ := m.replayMark()
	return name != "" && mark == name
}

// Replays tells how often dlxtop has replayed a message, and when it did so last (zero when it does not tell).
func (m *Message) Replays() (n int64, last time.Time, ok bool) {
	table, ok := m.Headers[ReplayHeader].(Table)
	if !ok {
		return 0, time.Time{}, false
	}
	if n, ok = table.Integer("count"); !ok || n < 1 {
		return 0, time.Time{}, false
	}
	last, _ = table.Time("time")
	return n, last, true
}

// ReplayedWords is "replayed 2 times", "" when it was not.
func (m *Message) ReplayedWords() string {
	switch n, _, ok := m.Replays(); {
	case !ok:
		return ""
	case n == 1:
		return "replayed once"
	default:
		return fmt.Sprintf("replayed %d times", n)
	}
}
