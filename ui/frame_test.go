package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// A frame is a screen without a terminal: the first one, or what a command opens, with what it reads.
func TestFrame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, open string
		want             []string
	}{
		{"flows", "a.txt", "", []string{"▸ ✗  example.delay.heaven", "── example.delay.heaven"}},
		{"queues", "b.txt", "queues", []string{"▸ RetryQueue", "UNACKED"}},
		{"flow", "c.ansi", "flow ucenter@user", []string{"\x1b[", "ucenter@user@retry", "master.failed"}},
		{"messages", "d.txt", "queue ucenter@user@failed", []string{"5 messages", "ROUTING KEY", "TimeoutError"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, _, _ := failedOptions(5)
			path := filepath.Join(t.TempDir(), test.file)
			must.Do(t, (Frame{path, test.open, 120, 36}).Write(t.Context(), o))
			frame := must.Get(os.ReadFile(path))(t)
			for _, want := range test.want {
				assert.That(t, strings.Contains(string(frame), want), "there is no %q in\n%s", want, frame)
			}
		})
	}
}

func TestFrameThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	there := filepath.Join(t.TempDir(), "there")
	must.Do(t, os.WriteFile(there, nil, 0o600))
	for _, test := range []struct{ name, path, open, want string }{
		{"unknown", "new", "flow nowhere", "there is no flow nowhere"},
		{"incomplete", "new", "find", "find is not complete: a text has to follow"},
		{"hostile", "new", "flow \x1b[2J", `there is no flow `},
		{"file exists", there, "", "the file exists already"},
		{"picture", "new.png", "", "a snapshot is text"},
		{"no folder", "nowhere/new", "", "no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, _, _ := failedOptions(5)
			if !filepath.IsAbs(test.path) {
				test.path = filepath.Join(t.TempDir(), test.path)
			}
			err := Frame{test.path, test.open, 120, 36}.Write(t.Context(), o)
			assert.That(t, err != nil && strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "\x1b"),
				"%v", err)
			info, err := os.Stat(test.path)
			assert.That(t, (err != nil || info.Size() <= 0) && (err == nil || test.path != there), "it was written: %v", err)
		})
	}
}
