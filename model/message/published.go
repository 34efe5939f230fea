package message

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// PublishedWithin is the time range in which the message was published: by the broker's clock where it wrote the time
// into the message (in milliseconds), otherwise by the publisher's (in seconds). Impossible times are left out.
func (m *Message) PublishedWithin() (from, to time.Time, ok bool) {
	if ms, ok := m.Headers.Integer("timestamp_in_ms"); ok && ms > model.FirstTime.UnixMilli() &&
		ms < model.LastTime.UnixMilli() {
		from = time.UnixMilli(ms)
		return from, from.Add(time.Millisecond), true
	}
	if t := m.Properties.Timestamp; t.After(model.FirstTime) && t.Before(model.LastTime) {
		return t, t.Add(time.Second), true
	}
	return time.Time{}, time.Time{}, false
}

// PublishedAt is PublishedWithin for callers that only need the time as written.
func (m *Message) PublishedAt() (time.Time, bool) {
	from, _, ok := m.PublishedWithin()
	return from, ok
}
