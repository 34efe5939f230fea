package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
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
	record := make([]byte, s.size(i, body))
	if err := s.read(record, s.records[i].at); err != nil {
		return message.Message{}, notReadAgain(i, err)
	}
	return s.parse(i, record)
}

// Range implements model.Messages.
func (s *spool) Range(from, to, body int, f func(*message.Message) error) error {
	for from < to {
		behind, size := from+1, s.size(from, body)
		for behind < to && s.whole(behind-1, body) && size+s.size(behind, body) <= spoolBuffer {
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

// size is that of a record with at most body bytes of its body, 0 is all of it; in bytes.
func (s *spool) size(i, body int) int64 {
	r := &s.records[i]
	if s.whole(i, body) {
		return int64(r.head) + r.body
	}
	return int64(r.head) + int64(body)
}

// whole reports whether a body is not cut by a limit: the next record is behind it.
func (s *spool) whole(i, body int) bool { return body <= 0 || s.records[i].body <= int64(body) }

// parse reads a record.
func (s *spool) parse(i int, record []byte) (message.Message, error) {
	r := &s.records[i]
	m, err := parseHead(string(record[:r.head]))
	if err != nil {
		return message.Message{}, notReadAgain(i, err)
	}
	m.Position, m.Body, m.BodyBytes, m.Fingerprint = i+1, record[r.head:], int(r.body), r.fingerprint
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m, nil
}

func notReadAgain(i int, err error) error {
	return fmt.Errorf("message %d was read, but cannot be read again: %w", i+1, err)
}

// ReadBody implements model.Messages.
func (s *spool) ReadBody(i int, b []byte, from int64) (int, error) {
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
