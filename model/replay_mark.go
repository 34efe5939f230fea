package model

import (
	"fmt"
	"time"
)

// ReplayHeader is the header that a replay adds, a table {"count": int64, "time": timestamp}: a message that fails again is
// recognised by it.
const ReplayHeader = "dlxtop-replay"

// mark notes in a publishing that m is replayed once more.
func (p *Publishing) mark(m *Message) {
	if p.Headers == nil {
		p.Headers = Table{}
	}
	n, _, _ := m.Replays()
	p.Headers[ReplayHeader] = Table{"count": n + 1, "time": time.Now().Truncate(time.Second)}
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
