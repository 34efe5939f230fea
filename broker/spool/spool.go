// Package spool keeps the messages of a peek: in memory while they are few, otherwise in a file.
package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	// Memory is how many bytes of messages a peek keeps in memory; beyond that, all of them go to the file.
	Memory = 4 << 20

	buffer = 256 << 10 // bytes of the write buffer
)

// Spool keeps messages as records, in memory or in a file that no other program can open: its name is removed at once,
// and it disappears with the program, however that ends. Once all messages are added, a Spool is safe for concurrent
// use.
type Spool struct {
	records []kept
	limit   int // bytes in memory, until there is a file
	file    *os.File
	written int64  // bytes in the file
	memory  []byte // not written yet
	bytes   int64  // of bodies
	failed  error  // writing the file failed: nothing more is added
}

// kept is where a record is, and what can be answered without reading it.
type kept struct {
	at          int64 // where the head begins; the body follows
	body        int64 // bytes
	head        int32 // bytes
	fingerprint message.Fingerprint
}

var _ message.Messages = (*Spool)(nil)

// New returns an empty spool that creates its file when the messages exceed this many bytes.
func New(memory int) *Spool { return &Spool{limit: memory} }

// Add adds a message. Its error is one sentence: why there is no room for this one, nor for any later one.
func (s *Spool) Add(m *message.Message) error {
	if s.failed != nil {
		return s.failed
	}
	start := len(s.memory)
	s.memory = appendHead(s.memory, m)
	record := kept{s.written + int64(start), int64(len(m.Body)), int32(len(s.memory) - start), m.Fingerprint}
	if s.failed = s.put(m.Body); s.failed != nil {
		if s.written <= record.at {
			s.memory = s.memory[:start]
		}
		return s.failed
	}

	s.records = append(s.records, record)
	s.bytes += record.body
	return nil
}

func (s *Spool) put(body []byte) error {
	all := len(s.memory) + len(body)
	if s.file == nil && all > s.limit {
		if err := s.open(); err != nil {
			return err
		}
	}

	if s.file == nil || all <= buffer {
		s.memory = append(s.memory, body...)
		return nil
	}

	if err := s.write(s.memory); err != nil {
		return err
	}
	if cap(s.memory) > 2*buffer {
		s.memory = make([]byte, 0, buffer)
	}

	s.memory = s.memory[:0]
	return s.write(body)
}

// open creates the file, and removes its name where the system allows that.
func (s *Spool) open() error {
	file, err := os.CreateTemp("", "dlxtop-peek-") // 0600
	if err != nil {
		return notKept(err)
	}
	if os.Remove(file.Name()) != nil {
		runtime.AddCleanup(s, func(name string) { _ = os.Remove(name) }, file.Name())
	}

	s.file = file
	return nil
}

func (s *Spool) write(b []byte) error {
	if _, err := s.file.WriteAt(b, s.written); err != nil {
		return notKept(err)
	}
	s.written += int64(len(b))
	return nil
}

func notKept(err error) error {
	dir := model.Printable(os.TempDir())
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk of %s, where dlxtop keeps the messages that it reads, is full: make room there, "+
			"or name another directory with TMPDIR", dir)
	}
	return model.Errorf("dlxtop cannot keep the messages that it reads in %s (%v): name another directory with TMPDIR",
		dir, err.Error())
}

func (s *Spool) Bytes() int64 { return s.bytes }

func (s *Spool) Len() int { return len(s.records) }

func (s *Spool) At(i, body int) (message.Message, error) {
	record := make([]byte, s.size(i, body))
	if err := s.read(record, s.records[i].at); err != nil {
		return message.Message{}, notReadAgain(i, err)
	}
	return s.parse(i, record)
}

func (s *Spool) Range(from, to, body int, f message.Visit) error {
	for from < to {
		behind, size := from+1, s.size(from, body)
		for behind < to && s.whole(behind-1, body) && size+s.size(behind, body) <= buffer {
			size += s.size(behind, body)
			behind++
		}

		records := make([]byte, size)
		if err := s.read(records, s.records[from].at); err != nil {
			return notReadAgain(from, err)
		}
		for ; from < behind; from++ {
			n := s.size(from, body)
			m, err := s.parse(from, records[:n:n])
			if err == nil {
				err = f(&m)
			}
			if err != nil {
				return err
			}
			records = records[n:]
		}
	}

	return nil
}

// size returns the size of a record with at most body bytes of its body; 0: all of it.
func (s *Spool) size(i, body int) int64 {
	r := &s.records[i]
	if s.whole(i, body) {
		return int64(r.head) + r.body
	}
	return int64(r.head) + int64(body)
}

// whole reports whether a limit leaves a body whole, so that the next record follows it.
func (s *Spool) whole(i, body int) bool { return body <= 0 || s.records[i].body <= int64(body) }

func (s *Spool) parse(i int, record []byte) (message.Message, error) {
	r := &s.records[i]
	m, err := parseHead(record[:r.head])
	if err != nil {
		return message.Message{}, notReadAgain(i, err)
	}
	m.Position = i + 1
	m.Body = record[r.head:]
	m.BodyBytes = int(r.body)
	m.Fingerprint = r.fingerprint
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m, nil
}

func notReadAgain(i int, err error) error {
	return fmt.Errorf("message %d was read, but cannot be read again: %w", i+1, err)
}

func (s *Spool) ReadBody(i int, b []byte, from int64) (int, error) {
	r := &s.records[i]
	n := min(int64(len(b)), max(r.body-from, 0))
	if err := s.read(b[:n], r.at+int64(r.head)+from); err != nil {
		return 0, notReadAgain(i, err)
	}
	if n < int64(len(b)) {
		return int(n), io.EOF
	}

	return int(n), nil
}

func (s *Spool) read(b []byte, at int64) error {
	n := 0
	if at < s.written {
		var err error
		if n, err = s.file.ReadAt(b[:min(int64(len(b)), s.written-at)], at); err != nil {
			return err
		}
		at += int64(n)
	}

	if n < len(b) {
		copy(b[n:], s.memory[at-s.written:])
	}

	return nil
}

func (s *Spool) InMemory() bool { return s.file == nil }

func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// A record is a message in a spool: everything but its position and fingerprint. Properties and headers are encoded as
// in AMQP; the body comes last, without a length: it extends to the end of the record.

// appendHead appends all of a record but the body.
func appendHead(b []byte, m *message.Message) []byte {
	redelivered := byte(0)
	if m.Redelivered {
		redelivered = 1
	}

	b = append(b, redelivered)
	for _, text := range []string{m.Exchange, m.RoutingKey} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}

	return wire.AppendProperties(b, &m.Properties, m.Headers)
}

// errRecord: a record cannot be decoded. No other program can write to a spool, so the disk must be at fault.
var errRecord = errors.New("the stored copy of it is damaged")

// parseHead decodes the output of appendHead, which must be all of b.
func parseHead(b []byte) (m message.Message, err error) {
	if len(b) == 0 {
		return m, errRecord
	}
	m.Redelivered, b = b[0] != 0, b[1:]
	for _, text := range []*string{&m.Exchange, &m.RoutingKey} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return message.Message{}, errRecord
		}
		*text, b = string(b[size:size+int(n)]), b[size+int(n):]
	}

	var ok bool
	if m.Properties, m.Headers, ok = wire.ReadProperties(b); !ok {
		return message.Message{}, errRecord
	}

	return m, nil
}
