package message

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// PublishedWithin returns the time range in which the message was published: by the broker's clock where it wrote the
// time into the message (in milliseconds), otherwise by the publisher's (in seconds). Impossible times are left out.
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

// TimedByPublisher reports whether PublishedWithin is by the publisher's clock, not the broker's.
func (m *Message) TimedByPublisher() bool {
	_, byBroker := m.Headers.Integer("timestamp_in_ms")
	return !byBroker
}

// WentRound reports whether the message was somewhere else after it was published: it died, a worker wrote into its
// headers that it failed, how often or where it came from, dlxtop replayed it, or a shovel or a federation moved it.
// Then the time at which it was published does not show when it came into its queue.
func (m *Message) WentRound() bool {
	if _, ok := m.Headers["x-first-death-queue"]; ok || len(m.Deaths) > 0 || m.DeathsError != "" {
		return true
	}
	replays, _, _ := m.Replays()
	retries, _, _ := m.Retried()
	return replays+retries > 0 || m.Headers["x-shovelled"] != nil || m.Headers["x-received-from"] != nil ||
		m.publishedAgain() || len(m.plainFields()) > 0
}
