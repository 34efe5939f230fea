package message

import (
	"bytes"
	"io"
)

// Messages is an ordered list of messages. They may be on disk, so that a hundred thousand of them need no memory: each
// call of At then reads again. It is safe for concurrent use.
type Messages interface {
	Len() int
	// At returns the message at an index from 0, with at most body bytes of its body; 0 is all of it. BodyBytes and the
	// fingerprint are those of the whole.
	At(i, body int) (Message, error)
	// Range calls f with the messages from an index up to, but not including, another, as At returns them, until an error.
	// It is faster than At when they are on disk. f may keep the messages, but a body also keeps others in memory.
	Range(from, to, body int, f func(*Message) error) error
	// ReadBody reads the body of the message at an index, beginning at an offset, like io.ReaderAt.
	ReadBody(i int, b []byte, from int64) (int, error)
	// InMemory reports whether At and ReadBody work without the disk.
	InMemory() bool
	// Close releases the messages. Nothing can be read afterwards.
	Close() error
}

// MessageList is Messages in memory.
type MessageList []Message

func (l MessageList) Len() int { return len(l) }

func (l MessageList) At(i, body int) (Message, error) {
	m := l[i]
	if body > 0 {
		m.Body = m.Body[:min(len(m.Body), body)]
	}
	return m, nil
}

func (l MessageList) Range(from, to, body int, f func(*Message) error) error {
	return oneByOne(l, from, to, body, f)
}

func (l MessageList) InMemory() bool { return true }

func (l MessageList) ReadBody(i int, b []byte, from int64) (int, error) {
	return bytes.NewReader(l[i].Body).ReadAt(b, from)
}

// BodyOf reads the body of the message at an index from where it is stored.
func BodyOf(messages Messages, i int) io.ReaderAt { return bodyOf{messages, i} }

type bodyOf struct {
	messages Messages
	i        int
}

func (o bodyOf) ReadAt(b []byte, from int64) (int, error) { return o.messages.ReadBody(o.i, b, from) }

func (l MessageList) Close() error { return nil }

// Part is a selection of messages, by their indexes.
type Part struct {
	Messages
	Indexes []int
}

func (p Part) Len() int { return len(p.Indexes) }

func (p Part) ReadBody(i int, b []byte, from int64) (int, error) {
	return p.Messages.ReadBody(p.Indexes[i], b, from)
}

func (p Part) At(i, body int) (Message, error) { return p.Messages.At(p.Indexes[i], body) }

func (p Part) Range(from, to, body int, f func(*Message) error) error {
	return oneByOne(p, from, to, body, f)
}

func oneByOne(messages Messages, from, to, body int, f func(*Message) error) error {
	for i := from; i < to; i++ {
		m, err := messages.At(i, body)
		if err != nil {
			return err
		}
		if err := f(&m); err != nil {
			return err
		}
	}

	return nil
}

// Visit is called with a message; its error ends the reading.
type Visit = func(*Message) error

// Walk calls its argument with each of its messages.
type Walk = func(Visit) error

// Each calls f with each message, with up to body bytes of its body, until one cannot be read.
func Each(messages Messages, body int, f func(*Message)) error {
	return messages.Range(0, messages.Len(), body, func(m *Message) error {
		f(m)
		return nil
	})
}
