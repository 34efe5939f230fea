// Package export writes messages to files and reads them back: one line of JSON each, in the form of
// message.MessageJSON.
package export

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Messages calls each with every message, until an error.
type Messages = message.Walk

// Files are files on this machine.
type Files struct{}

// Create writes messages into a new file that only its owner can read: they may contain secrets. It appears under its
// name only when it is complete. It does not overwrite. Errors about the file wrap message.ErrFile; those of messages
// are returned unchanged.
func (f Files) Create(path string, messages Messages) (n int, err error) {
	name := model.Printable(path)
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%w %s is there already: name a new one", message.ErrFile, name)
	}
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return 0, model.Errorf("%w %v is there: another program is writing it, or did not finish it: remove it, "+
			"or name another", message.ErrFile, part)
	case err != nil:
		return 0, fmt.Errorf("%w cannot be written: %w", message.ErrFile, err)
	}

	defer func() { _ = os.Remove(part) }()
	if n, err = f.Write(file, messages); err != nil {
		_ = file.Close()
		return n, err
	}

	if err := cmp.Or(file.Sync(), file.Close()); err != nil { // after a drop it may be the only copy
		return n, fmt.Errorf("%w cannot be written: %w", message.ErrFile, err)
	}

	// Link, unlike Rename, does not overwrite a file that was created meanwhile.
	if err = os.Link(part, path); err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(part, path) // a file system without links
	}
	if err != nil {
		return n, fmt.Errorf("%w cannot be given its name: %w", message.ErrFile, err)
	}

	return n, nil
}

// Write writes messages to a stream.
func (Files) Write(out io.Writer, messages Messages) (n int, err error) {
	buffered := bufio.NewWriterSize(out, 1<<20)
	err = messages(func(m *message.Message) error {
		err := m.WriteJSON(buffered, bytes.NewReader(m.Body), "", "")
		if err == nil {
			err = buffered.WriteByte('\n')
		}
		if err != nil {
			return fmt.Errorf("%w cannot be written: %w", message.ErrFile, err)
		}
		n++
		return nil
	})

	if e := buffered.Flush(); err == nil && e != nil {
		err = fmt.Errorf("%w cannot be written: %w", message.ErrFile, e)
	}

	return n, err
}

// Read reads a file line by line. A bad line is an error that names it.
func (Files) Read(ctx context.Context, path string, each message.Visit) error {
	name := model.Printable(path)
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w %s is not there", message.ErrFile, name)
	case err != nil:
		return fmt.Errorf("%w cannot be read: %w", message.ErrFile, err)
	}

	defer file.Close()
	lines := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := messageLine(lines)
		switch {
		case errors.Is(err, errLongLine):
			return fmt.Errorf("%w %s, line %d: %w", message.ErrFile, name, number, err)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("%w cannot be read: %w", message.ErrFile, err)
		}

		if len(bytes.TrimSpace(line)) > 0 {
			if !utf8.Valid(line) {
				return fmt.Errorf("%w %s, line %d: it is not UTF-8", message.ErrFile, name, number)
			}
			m, bad := message.ParseMessage(line)
			if bad != nil {
				return fmt.Errorf("%w %s, line %d: %w", message.ErrFile, name, number, bad)
			}
			if text := bytes.TrimSpace(line); text[0] != '{' || len(bytes.Trim(text, "{} \t")) == 0 {
				return fmt.Errorf("%w %s, line %d: null and {} are no messages", message.ErrFile, name, number)
			}
			if odd := m.OddFloat(); odd != "" {
				return fmt.Errorf("%w %s, line %d: its header %s is not a finite number, and RabbitMQ ends a connection for that",
					message.ErrFile, name, number, odd)
			}
			bad = each(&m)
			if line := (*message.LineError)(nil); errors.As(bad, &line) {
				bad = fmt.Errorf("%w %s, line %d: %w", message.ErrFile, name, number, bad)
			}
			if bad != nil {
				return bad
			}
		}

		if err != nil {
			return nil
		}
	}
}

// maxLine bounds the memory for a file that does not contain messages. By default brokers accept bodies of 128 MiB
// (3.x) and 16 MiB (4.x).
const maxLine = 256 << 20

var errLongLine = errors.New("it is longer than 256 MiB, which no broker takes as one message unless it is " +
	"configured to")

// messageLine reads to the end of a line, but stops after its first part if that does not begin like a message.
func messageLine(lines *bufio.Reader) (line []byte, err error) {
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		start := bytes.TrimSpace(line)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull), len(start) > 0 && start[0] != '{':
			if errors.Is(err, bufio.ErrBufferFull) {
				err = nil
			}
			return line, err
		case len(line) > maxLine:
			return nil, errLongLine
		}
	}
}
