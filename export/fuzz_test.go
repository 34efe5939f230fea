package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A file is read to its end or to its first bad line, which the error names; what was read is written as a file that
// reads the same.
func FuzzReadFile(f *testing.F) {
	var lines bytes.Buffer
	must.Get((export.Files{}).Write(&lines, some(3)))(f)
	f.Add(lines.Bytes())
	f.Add(append(bytes.ReplaceAll(lines.Bytes(), []byte("\n"), []byte("\r\n\n")), "{"...))
	f.Add([]byte("PK\x03\x04 this is no file of messages\n"))
	f.Add([]byte("\xef\xbb\xbf{}\n\x1b[2J"))
	path := filepath.Join(f.TempDir(), "messages.jsonl")
	f.Fuzz(func(t *testing.T, content []byte) {
		must.Do(t, os.WriteFile(path, content, 0o600))
		var read []message.Message
		take := func(m *message.Message) error {
			read = append(read, *m)
			return nil
		}
		limit.Keep(t, len(content), func() {
			err := export.Files{}.Read(t.Context(), path, take)
			if err == nil {
				return
			}
			var line int
			_, after, _ := strings.Cut(err.Error(), path+", line ")
			_, scan := fmt.Sscanf(after, "%d:", &line)
			assert.That(t, errors.Is(err, message.ErrFile) && scan == nil && line >= len(read)+1 &&
				line <= bytes.Count(content, []byte("\n"))+1 && model.Printable(err.Error()) == err.Error() &&
				len(err.Error()) <= 1000, "after %d messages: %q", len(read), err)
		})
		first := read
		read = nil
		must.Do(t, os.Remove(path))
		n, err := export.Files{}.Create(path, func(each func(*message.Message) error) error {
			for i := range first {
				if err := each(&first[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = export.Files{}.Read(t.Context(), path, take)
		}
		must.That(t, err == nil && n == len(first) && len(read) == len(first),
			"%d messages are written as %d and read as %d: %v", len(first), n, len(read), err)
		for i := range first {
			assert.That(t, first[i].Fingerprint == read[i].Fingerprint, "%+v became %+v", first[i], read[i])
		}
	})
}
