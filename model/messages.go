package model

// Messages are messages in their order. They may be on disk, so that a hundred thousand of them need no memory: each call of At
// reads one anew. They are safe for concurrent use.
type Messages interface {
	Len() int
	// At is the message at an index, 0 is the first, with at most so many bytes of its body; 0 is all of it. BodyBytes and the
	// fingerprint are of the whole.
	At(i, body int) (Message, error)
	// Close lets go of them. Nothing can be read then.
	Close() error
}

// MessageList are messages in memory.
type MessageList []Message

// Len implements Messages.
func (l MessageList) Len() int { return len(l) }

// At implements Messages.
func (l MessageList) At(i, body int) (Message, error) {
	m := l[i]
	if body > 0 {
		m.Body = m.Body[:min(len(m.Body), body)]
	}
	return m, nil
}

// Close implements Messages.
func (l MessageList) Close() error { return nil }

// Part are some of the messages, by their indexes.
type Part struct {
	Messages
	Indexes []int
}

// Len implements Messages.
func (p Part) Len() int { return len(p.Indexes) }

// At implements Messages.
func (p Part) At(i, body int) (Message, error) { return p.Messages.At(p.Indexes[i], body) }

// each calls f with one message after the other, with so much of its body, until there is an error.
func each(messages Messages, body int, f func(*Message)) error {
	for i := range messages.Len() {
		m, err := messages.At(i, body)
		if err != nil {
			return err
		}
		f(&m)
	}
	return nil
}
