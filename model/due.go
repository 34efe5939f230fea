package model

import "time"

// DueKind is how well it is known when a waiting message leaves its buffer.
type DueKind string

// The kinds.
const (
	DueUnknown DueKind = "unknown"
	DueExact   DueKind = "exact"
	DueAtMost  DueKind = "at most"
)

// DueTime is when a waiting message leaves its buffer.
type DueTime struct {
	Kind DueKind
	Time time.Time // zero when unknown
}

// Due tells when a message that waits in a buffer expires. ttl is the queue's effective message TTL; takenAt is when the
// message was seen in the buffer.
func Due(m *Message, ttl Opt[time.Duration], takenAt time.Time) DueTime {
	return DueTime{Kind: DueUnknown}
}

// In is the time left for people: "3.2s", "≤ 2s", "overdue", "unknown".
func (d DueTime) In(now time.Time) string { return "" }

// ShortDuration is a duration for people: "500ms", "30s", "1h30m", "7d".
func ShortDuration(d time.Duration) string { return "" }
