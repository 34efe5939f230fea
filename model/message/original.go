package message

import (
	"slices"
	"time"
)

// Original identifies what an application published, and how it failed.
type Original struct {
	// Message covers everything that dead-lettering, replays and envelopes leave as it was: copies of one message share
	// it, whichever failed queue each is in.
	Message Fingerprint
	// Failure also covers the deaths and the last replay: it changes with each failure.
	Failure Fingerprint
	// ByID: the message has a message_id. Otherwise Message also covers its deaths, or without any where it was published,
	// and even so two in one queue may be different messages.
	ByID bool
}

// Original identifies what an application published. ok is false for a message with neither a message_id nor deaths
// that was sent to its queue by name.
func (m *Message) Original() (o Original, ok bool) {
	m = Opening(m).Message
	deaths, died := m.Headers["x-death"]
	if o.ByID = m.Properties.MessageID != ""; !o.ByID && !died && m.Exchange == "" {
		return o, false
	}
	properties := m.Properties
	properties.Clear(PropExpiration) // dead-lettering removes it
	w := inFront("", "", &properties, m.Headers, isLater)
	if !o.ByID {
		w.Value(deaths)
	}

	if !o.ByID && !died { // a worker published it once, to an exchange that leads to both queues
		w.Text(m.Exchange)
		w.Text(m.RoutingKey)
	}

	o.Message = m.sum(w, m.Body)
	w = NewFingerprinter()
	w.Value(deaths)
	w.Value(m.Headers[ReplayHeader])
	o.Failure = w.Sum(o.Message[:])
	return o, true
}

// isLater reports whether a header is none that an application published.
func isLater(key string) bool { return key == ReplayHeader || IsBrokerHeader(key) }

// FailedAfter reports whether a message failed again after a replay that began at a time, as far as it says; known is
// false when it does not.
func (m *Message) FailedAfter(began time.Time) (after, known bool) {
	began = began.Truncate(time.Second) // marks and deaths have this precision
	for _, of := range slices.Compact([]*Message{m, Opening(m).Message}) {
		if _, last, marked := of.Replays(); marked && !last.Before(began) {
			return true, true
		}
		f, _ := of.Failure()
		if _, last := of.Failed(f); last.Known() {
			known, after = true, after || !last.Or(began).Before(began)
		}
	}

	return after, known
}
