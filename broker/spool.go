package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"dlxtop/model"
	"dlxtop/model/message"
)

const (
	// bytes of messages that a peek keeps in memory; what is more goes to a file, with all that came before
	spoolMemory = 4 << 20
	spoolBuffer = 256 << 10 // bytes that wait to be written to it
)

// spool keeps the messages of a peek as records: in memory while they are few, else in a file that nobody else can
// open, and that is gone with the program, however it ends. When all are added it is safe for concurrent use.
type spool struct {
	records []kept
	limit   int // of memory, until there is a file
	file    *os.File
	written int64  // to the file
	memory  []byte // what is not written
	bytes   int64  // of bodies
	failed  error  // of the file: nothing more is added
}

// kept says where a record is, and what is asked for without reading it.
type kept struct {
	at          int64 // of the head; the body follows
	body        int64 // bytes
	head        int32 // bytes
	fingerprint message.Fingerprint
}

var _ message.Messages = (*spool)(nil)

// add takes a message in. Its error says why there is no room for this one and for any further one.
func (s *spool) add(m *message.Message) error {
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

// put takes a body behind its head.
func (s *spool) put(body []byte) error {
	all := len(s.memory) + len(body)
	if s.file == nil && all > s.limit {
		if err := s.open(); err != nil {
			return err
		}
	}
	if s.file == nil || all <= spoolBuffer {
		s.memory = append(s.memory, body...)
		return nil
	}
	if err := s.write(s.memory); err != nil {
		return err
	}
	if cap(s.memory) > 2*spoolBuffer {
		s.memory = make([]byte, 0, spoolBuffer)
	}
	s.memory = s.memory[:0]
	return s.write(body)
}

// open makes the file. It loses its name at once, where the system allows that.
func (s *spool) open() error {
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

func (s *spool) write(b []byte) error {
	if _, err := s.file.WriteAt(b, s.written); err != nil {
		return notKept(err)
	}
	s.written += int64(len(b))
	return nil
}

func notKept(err error) error {
	dir := model.Printable(os.TempDir())
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk of %s, where dlxtop keeps the messages that it reads, is full: make room "+
			"there, or name another "+
			"directory with TMPDIR", dir)
	}
	return fmt.Errorf("dlxtop cannot keep the messages that it reads in %s (%s): name another directory with "+
		"TMPDIR", dir,
		model.Printable(err.Error()))
}

// Len implements model.Messages.
func (s *spool) Len() int { return len(s.records) }

// At implements model.Messages.
func (s *spool) At(i, body int) (message.Message, error) {
	r := &s.records[i]
	size := r.body
	if body > 0 {
		size = min(size, int64(body))
	}
	record := make([]byte, int64(r.head)+size)
	if err := s.read(record, r.at); err != nil {
		return message.Message{}, fmt.Errorf("message %d was read, but cannot be read again: %w", i+1, err)
	}
	head, part := record[:r.head], record[r.head:]
	m, err := parseHead(string(head))
	if err != nil {
		return message.Message{}, fmt.Errorf("message %d was read, but cannot be read again: %w", i+1, err)
	}
	m.Position, m.Body, m.BodyBytes, m.Fingerprint = i+1, part, int(r.body), r.fingerprint
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m, nil
}

// ReadBody implements model.Messages.
func (s *spool) ReadBody(i int, b []byte, from int64) (int, error) {
	r := &s.records[i]
	n := min(int64(len(b)), max(r.body-from, 0))
	if err := s.read(b[:n], r.at+int64(r.head)+from); err != nil {
		return 0, fmt.Errorf("message %d was read, but cannot be read again: %w", i+1, err)
	}
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (s *spool) read(b []byte, at int64) error {
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

// InMemory implements model.Messages.
func (s *spool) InMemory() bool { return s.file == nil }

// Close implements model.Messages.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
