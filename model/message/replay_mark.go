package message

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// ReplayHeader is the header that a replay adds, so that a message that fails again is recognised. Its value is a text,
// "count=2; time=2026-11-22T05:00:00Z; replay=NAME", because some frameworks accept only texts: Watermill requeues a
// message with a header of another type for ever. The name is that of the last replay. Early pre-releases wrote a table
// with the same keys, which is read, too.
const ReplayHeader = "dlxtop-replay"

type replayMark struct {
	count int64
	at    time.Time // zero when unknown
	name  string    // "" when the replay had none
}

// String is the mark as written to the header: count, time (RFC 3339, UTC), and the name of the replay.
func (r replayMark) String() string {
	text := fmt.Sprintf("count=%d; time=%s", r.count, r.at.UTC().Format(time.RFC3339))
	if r.name != "" {
		text += "; replay=" + r.name
	}
	return text
}

// replayMark reads the mark. marked is true for anything that looks like one.
func (m *Message) replayMark() (r replayMark, marked bool) {
	switch v := m.Headers[ReplayHeader].(type) {
	case model.Table:
		r.count, _ = v.Integer("count")
		r.at, _ = v.Time("time")
		r.name, _ = v.Text("replay")
		return r, true
	case string:
		for part := range strings.SplitSeq(v, "; ") {
			switch key, value, _ := strings.Cut(part, "="); key {
			case "count":
				if n, err := strconv.ParseInt(value, 10, 32); err == nil {
					r.count = n
				}
			case "time":
				r.at, _ = time.Parse(time.RFC3339, value)
			case "replay":
				r.name = value
			}
		}
		return r, r.count > 0
	}
	return r, false
}

// NewMark returns a unique name for a replay.
func NewMark() string { return rand.Text() }

// Mark records in a publishing that m is replayed once more, by the replay of this name ("" for none).
func (p *Publishing) Mark(m *Message, name string) {
	if p.Headers == nil {
		p.Headers = model.Table{}
	}
	n, _, _ := m.Replays()
	p.Headers[ReplayHeader] = replayMark{count: n + 1, at: time.Now(), name: name}.String()
}

// ReplayMark is the name of the replay that sent a message last. marked is true for every message that dlxtop replayed,
// even without a name.
func (m *Message) ReplayMark() (name string, marked bool) {
	r, marked := m.replayMark()
	return r.name, marked
}

// MarkedBy reports whether a replay of this name sent the message.
func (m *Message) MarkedBy(name string) bool {
	mark, _ := m.ReplayMark()
	return name != "" && mark == name
}

// Replays is how often dlxtop has replayed a message, and when last (zero when unknown).
func (m *Message) Replays() (n int64, last time.Time, ok bool) {
	r, _ := m.replayMark()
	if r.count < 1 {
		return 0, time.Time{}, false
	}
	return r.count, r.at, true
}

// ReplayedWords is "replayed 2 times", "" when it was not.
func (m *Message) ReplayedWords() string {
	switch n, _, ok := m.Replays(); {
	case !ok:
		return ""
	case n == 1:
		return "replayed once"
	default:
		return "replayed " + model.Count(n) + " times"
	}
}
