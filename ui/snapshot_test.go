package ui

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/ui/term"
)

// A frame is written as it stands on the screen, without colours, for its owner alone, and never over another file.
func TestSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	o, _, _ := failedOptions(5)
	term := newTerminal(t, o, 120, 36, func(a *app) { a.env.styles = term.NewStyles(term.Dark, termenv.TrueColor) })
	term.await("ucenter@user")
	term.press("2")
	term.await("UNACKED")
	term.command("snapshot "+path, "▸ snapshot /")
	term.press(keyEnter)
	term.await("this screen is in ")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 37 || strings.Contains(string(text), "\x1b") || !strings.Contains(string(text), "UNACKED") ||
		strings.Contains(string(text), "snapshot") || lines[0] != strings.TrimRight(lines[0], " ") {
		t.Errorf("the frame has %d lines:\n%s", len(lines), text)
	}
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

// :snapshot FILE.svg and FILE.png write the screen in its colours.
func TestSnapshotAsPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame.SVG")
	o, _, _ := failedOptions(5)
	screen := newTerminal(t, o, 120, 36, func(a *app) { a.env.styles = term.NewStyles(term.Dark, termenv.TrueColor) })
	screen.await("ucenter@user")
	screen.press("2")
	screen.await("UNACKED")
	screen.command("snapshot "+path, "▸ snapshot /")
	screen.press(keyEnter)
	screen.await("this screen is in ")
	picture, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(picture)
	if !strings.HasPrefix(text, "<svg ") || !strings.Contains(text, ">UNACKED") || strings.Contains(text, "\x1b") ||
		!strings.Contains(text, `fill="#ff7b71"`) { // danger
		t.Errorf("%s", text)
	}
	path = strings.TrimSuffix(path, ".SVG") + ".png"
	screen.command("snapshot "+path, "▸ snapshot /")
	screen.press(keyEnter)
	screen.await("this screen is in ", ".png")
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	drawn, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	danger := 0
	for i := range drawn.Bounds().Dx() * drawn.Bounds().Dy() {
		r, g, b, _ := drawn.At(i%drawn.Bounds().Dx(), i/drawn.Bounds().Dx()).RGBA()
		if r>>8 == 0xff && g>>8 == 0x7b && b>>8 == 0x71 {
			danger++
		}
	}
	if size := drawn.Bounds().Size(); size.X != 120*pngCell+2*pngPadding || danger == 0 {
		t.Errorf("it has %v pixels, %d of them red", size, danger)
	}
}
