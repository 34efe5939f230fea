package message

import (
	"bytes"
	"io"
)

// Messages are messages in their order. They may be on disk, so that a hundred thousand of them need no memory: each
// call of At reads it once more. They are safe for concurrent use.
type Messages interface {
	Len() int
	// At is the message at an index, 0 is the first, with at most body bytes of its body; 0 is all of it. BodyBytes
	// and the fingerprint are of the whole.
	At(i, body int) (Message, error)
	// Range calls f with what At tells of one message after the other, from an index up to before another, until there
	// is an error. It is faster than At where they are on disk. f may keep the messages, but a body keeps others in
	// memory, too.
	Range(from, to, body int, f func(*Message) error) error
	// ReadBody reads of the body of the message at an index from an offset on, as io.ReaderAt does.
	ReadBody(i int, b []byte, from int64) (int, error)
	// InMemory reports whether At and ReadBody read no disk.
	InMemory() bool
	// Close lets go of them. Nothing can be read then.
	Close() error
}

// MessageList are messages in memory.
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

// BodyOf is the body of the message at an index, where it is.
func BodyOf(messages Messages, i int) io.ReaderAt { return bodyOf{messages, i} }

type bodyOf struct {
	messages Messages
	i        int
}

func (o bodyOf) ReadAt(b []byte, from int64) (int, error) { return o.messages.ReadBody(o.i, b, from) }

func (l MessageList) Close() error { return nil }

// Part are some of the messages, by their indexes.
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

// Each calls f with one message after the other, with so much of its body, until one cannot be read.
func Each(messages Messages, body int, f func(*Message)) error {
	return messages.Range(0, messages.Len(), body, func(m *Message) error {
		f(m)
		return nil
	})
}
