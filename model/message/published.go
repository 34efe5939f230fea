package message

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// PublishedWithin is between when and when the message was published, by the clock of the broker where it wrote the
// time into the message (to the millisecond), else by the publisher's (to the second). Times that cannot be are not
// told.
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

// PublishedAt is PublishedWithin for who needs no more than the time as it was written.
func (m *Message) PublishedAt() (time.Time, bool) {
	from, _, ok := m.PublishedWithin()
	return from, ok
}
