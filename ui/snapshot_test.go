package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/ui/term"
)

// snapshotOfQueues writes the queues into a file, and reads it.
func snapshotOfQueues(t *testing.T, path string) (*terminal, string) {
	t.Helper()
	o, _, _ := failedOptions(5)
	screen := newTerminal(t, o, 120, 36, func(a *app) { a.env.Styles = term.NewStyles(term.Dark, termenv.TrueColor) })
	screen.await("ucenter@user")
	screen.press("2")
	screen.await("UNACKED")
	screen.command("snapshot "+path, "▸ snapshot /")
	screen.press(keyEnter)
	screen.await("this screen is in ")
	text := must.Get(os.ReadFile(path))(t)
	return screen, string(text)
}

// A frame is written as it stands on the screen, without colours, for its owner alone, and never over another file.
func TestSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	term, text := snapshotOfQueues(t, path)
	lines := strings.Split(text, "\n")
	assert.That(t, len(lines) == 37 && !strings.Contains(text, "\x1b") && strings.Contains(text, "UNACKED") &&
		!strings.Contains(text, "snapshot") && lines[0] == strings.TrimRight(lines[0], " "), "the frame has %d lines:\n%s",
		len(lines), text)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	term.command("snapshot "+path, "▸ snapshot /")
	term.press(keyEnter)
	term.await("the file exists already")
	term.command("snapshot "+filepath.Join(path, "below"), "▸ snapshot /")
	term.press(keyEnter)
	term.await("not written to")
}

// :snapshot FILE.ansi writes the screen in its colours; what would have to be a picture is refused.
func TestSnapshotInColours(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame.ANSI")
	screen, text := snapshotOfQueues(t, path)
	assert.That(t, strings.Contains(text, "38;2;255;123;113") && strings.Count(text, "\n") == 36, "%q", text)
	screen.command("snapshot "+path+".png", "▸ snapshot /")
	screen.press(keyEnter)
	screen.await("a snapshot is text")
	_, err := os.Stat(path + ".png")
	assert.That(t, err != nil, "there is a picture")
}
