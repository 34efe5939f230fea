package message

import (
	"maps"
	"time"
)

// Original identifies what an application published, and how it failed.
type Original struct {
	// Message is of all that dead-lettering, replays and envelopes leave as it was: copies of one message have the same,
	// whichever failed queue each is in.
	Message Fingerprint
	// Failure is also of the deaths and of the last replay: it is another one after each failure.
	Failure Fingerprint
	// ByID: the message has a message_id. Otherwise its deaths are in Message, too, and two in one queue may be different
	// messages all the same.
	ByID bool
}

// Original is what an application published. ok is false of a message with neither a message_id nor deaths.
func (m *Message) Original() (o Original, ok bool) {
	m = Opening(m).Message
	deaths, died := m.Headers["x-death"]
	if o.ByID = m.Properties.MessageID != ""; !o.ByID && !died {
		return o, false
	}
	properties, headers := m.Properties, m.ReplayHeaders()
	properties.Clear(PropExpiration) // which dead-lettering takes off
	mark, marked := headers[ReplayHeader]
	if marked {
		headers = maps.Clone(headers)
		delete(headers, ReplayHeader)
	}
	w := inFront("", "", &properties, headers)
	if !o.ByID {
		w.Value(deaths)
	}
	o.Message = m.sum(w, m.Body)
	w = NewFingerprinter()
	w.Value(deaths)
	w.Value(mark)
	o.Failure = w.Sum(o.Message[:])
	return o, true
}

// FailedAfter reports whether a message failed again after a replay that began then, as far as it says; known is false
// when it does not.
func (m *Message) FailedAfter(began time.Time) (after, known bool) {
	began = began.Truncate(time.Second) // as marks and deaths have it
	for _, of := range []*Message{m, Opening(m).Message} {
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
