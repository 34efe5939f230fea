package export_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

func some(n int) export.Messages {
	return func(each func(*message.Message) error) error {
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
	must.That(t, n == 3 && err == nil, "%d %v", n, err)
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
		assert.That(t, errors.Is(err, message.ErrFile) && strings.Contains(err.Error(), words) &&
			!strings.Contains(err.Error(), "\n"), "%s: %v", path, err)
	}
	refused(path, "is there already", some(1))
	refused(filepath.Join(dir, "no", "folder"), "cannot be written", some(1))
	late := filepath.Join(dir, "late.jsonl")
	refused(late, "file exists", func(each func(*message.Message) error) error {
		return errors.Join(some(1)(each), os.WriteFile(late, kept, 0o600)) // somebody else was faster
	})
	broken := errors.New("the connection was lost")
	_, err := (export.Files{}).Create(filepath.Join(dir, "half.jsonl"), func(each func(*message.Message) error) error {
		return errors.Join(some(1)(each), broken)
	})
	assert.That(t, errors.Is(err, broken) && !errors.Is(err, message.ErrFile), "%v", err)
	for _, name := range []string{path, late} {
		content, _ := os.ReadFile(name)
		assert.That(t, bytes.Equal(content, kept), "%s now holds %q", name, content)
	}
	entries, _ := os.ReadDir(dir)
	assert.That(t, len(entries) == 2, "left behind: %v", entries)
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.part"), nil, 0o600))
	refused(filepath.Join(dir, "x"), "remove it", some(1))
}

// What is no message, or would end the connection, is refused with its line before anything is sent.
func TestReadRefusesOddLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, line := range []string{
		"null", "{}", `{"body":"a","evil":1}`, "{\"body\":\"\xff\"}",
		`{"body":"a","headers":{"x":{"$type":"float64","value":"NaN"}}}`,
	} {
		must.Do(t, os.WriteFile(path, []byte(`{"body":"a"}`+"\n"+line+"\n"), 0o600))
		err := (export.Files{}).Read(t.Context(), path, func(*message.Message) error { return nil })
		assert.That(t, errors.Is(err, message.ErrFile) && strings.Contains(err.Error(), "line 2: "), "%q: %v", line, err)
	}
}
