package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

func some(n int) export.Messages {
	return func(each message.Visit) error {
		for i := range n {
			m := message.Message{
				Position: i + 1, RoutingKey: "k", Body: []byte{0xff, byte(i)}, BodyBytes: 2,
				Headers: model.Table{"n": int32(i)},
			}

			m.Fingerprint = message.FingerprintOf(&m)
			if err := each(&m); err != nil {
				return err
			}
		}

		return nil
	}
}

func TestCreateAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	n, err := export.Files{}.Create(path, some(3))
	must.Do(t, err)
	must.Equal(t, n, 3, "%d %v", n, err)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", err, info.Mode())
	}

	var want, got []message.Message
	_ = some(3)(func(m *message.Message) error { want = append(want, *m); return nil })
	must.Do(t, (export.Files{}).Read(t.Context(), path,
		func(m *message.Message) error { got = append(got, *m); return nil }))
	assert.NoDiff(t, cmp.Diff(want, got, cmpopts.IgnoreUnexported(message.Message{})))
	var out bytes.Buffer
	must.Get((export.Files{}).Write(&out, some(3)))(t)
	written, _ := os.ReadFile(path)
	assert.That(t, bytes.Equal(written, out.Bytes()), "a stream has %s", out.Bytes())
}

func TestCreateDoesNoHarm(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "messages.jsonl")
	kept := []byte("somebody's")
	must.Do(t, os.WriteFile(path, kept, 0o644))

	refused := func(path, words string, messages export.Messages) {
		t.Helper()
		_, err := export.Files{}.Create(path, messages)
		assert.That(t, errors.Is(err, message.ErrFile), "%s: %v", path, err)
		assert.Contains(t, err.Error(), words)
		assert.Lacks(t, err.Error(), "\n")
	}

	refused(path, "is there already", some(1))
	refused(filepath.Join(dir, "no", "folder"), "cannot be written", some(1))
	late := filepath.Join(dir, "late.jsonl")
	refused(late, "file exists", func(each message.Visit) error {
		return errors.Join(some(1)(each), os.WriteFile(late, kept, 0o600)) // someone else was faster
	})
	broken := errors.New("the connection was lost")
	_, err := (export.Files{}).Create(filepath.Join(dir, "half.jsonl"), func(each message.Visit) error {
		return errors.Join(some(1)(each), broken)
	})
	assert.That(t, errors.Is(err, broken), "%v", err)
	assert.That(t, !errors.Is(err, message.ErrFile), "%v", err)

	for _, name := range []string{path, late} {
		content, _ := os.ReadFile(name)
		assert.That(t, bytes.Equal(content, kept), "%s now holds %q", name, content)
	}

	entries, _ := os.ReadDir(dir)
	assert.That(t, len(entries) == 2, "left behind: %v", entries)
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.part"), nil, 0o600))
	refused(filepath.Join(dir, "x"), "remove it", some(1))
}

// A line that is not a message, or would make the broker close the connection, is refused before anything is sent; the
// error names the line.
func TestReadRefusesOddLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, line := range []string{
		"null", "{}", `{"body":"a","evil":1}`, "{\"body\":\"\xff\"}",
		`{"body":"a","headers":{"x":{"$type":"float64","value":"NaN"}}}`,
	} {
		must.Do(t, os.WriteFile(path, []byte(`{"body":"a"}`+"\n"+line+"\n"), 0o600))
		err := (export.Files{}).Read(t.Context(), path, func(*message.Message) error { return nil })
		assert.That(t, errors.Is(err, message.ErrFile), "%q: %v", line, err)
		assert.Contains(t, err.Error(), "line 2: ", "%v", line)
	}
}

// A file is read to its end or to its first bad line, which the error names; writing what was read gives a file that
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

		limit.Check(t, len(content), func() {
			err := export.Files{}.Read(t.Context(), path, take)
			if err == nil {
				return
			}
			var line int
			_, after, _ := strings.Cut(err.Error(), path+", line ")
			_, scan := fmt.Sscanf(after, "%d:", &line)
			assert.Succeeds(t, scan)
			assert.That(t, errors.Is(err, message.ErrFile), "after %d messages: %q", len(read), err)
			assert.That(t, line > len(read) && line <= bytes.Count(content, []byte("\n"))+1, "line %d", line)
			assert.Equal(t, model.Printable(err.Error()), err.Error())
			assert.That(t, len(err.Error()) <= 1000, "%q", err)
		})

		first := read
		read = nil
		must.Do(t, os.Remove(path))

		n, err := export.Files{}.Create(path, func(each message.Visit) error {
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

		must.Do(t, err)
		must.Equal(t, n, len(first), "%d messages are written as %d and read as %d: %v", len(first), n, len(read), err)
		must.Equal(t, len(read), len(first))
		for i := range first {
			assert.That(t, first[i].Fingerprint == read[i].Fingerprint, "%+v became %+v", first[i], read[i])
		}
	})
}
