package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// snapshotTimeout bounds the writing of a frame.
const snapshotTimeout = 10 * time.Second

func snapshotInto(_ *shell.Env, path string) (effect, error) {
	path, err := shell.Absolute(path)
	return func(a app) (app, tea.Cmd) { return a, snapshot(a.env, path, a.View()) }, err
}

// What the name of a file ends in that has the colours, and what would promise a picture, which dlxtop does not draw.
const colourEnding = ".ansi"

var pictureEndings = []string{".png", ".svg", ".gif", ".jpg", ".jpeg", ".pdf"}

// snapshot writes the screen as it is now.
func snapshot(e *shell.Env, path, frame string) tea.Cmd {
	return e.Command(snapshotTimeout, func(context.Context) tea.Msg {
		if err := writeFrame(path, frame); err != nil {
			return shell.NoticeMsg{Text: err.Error(), Bad: true}
		}
		return shell.NoticeMsg{Text: "this screen is in " + model.Printable(path)}
	})
}

// writeFrame writes a frame into a new file, as text. Only its owner can read it: a screen may show messages. The error
// is printable.
func writeFrame(path, frame string) error {
	if err := refusePicture(path); err != nil {
		return err
	}
	shown, text := model.Printable(path), plainFrame(frame)
	if strings.EqualFold(filepath.Ext(path), colourEnding) {
		text = frame + ansi.ResetStyle + "\n"
	}
	err := writeNew(path, []byte(text))
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("not written to %s: the file exists already: name another one", shown)
	case err != nil:
		return fmt.Errorf("not written to %s: %s", shown, model.Printable(err.Error()))
	}
	return nil
}

func refusePicture(path string) error {
	if !slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(path))) {
		return nil
	}
	return fmt.Errorf("not written to %s: a snapshot is text: name FILE, or FILE%s for text with its colours",
		model.Printable(path), colourEnding)
}

// plainFrame is a frame without its looks, and without the blanks at the ends of its lines.
func plainFrame(frame string) string {
	var text strings.Builder
	for line := range strings.Lines(ansi.Strip(frame)) {
		text.WriteString(strings.TrimRight(line, " \r\n") + "\n")
	}
	return text.String()
}

// writeNew writes a file that does not exist yet. What could not be written whole is taken away again.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
