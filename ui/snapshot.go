package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/paint"
	"github.com/dlxtop/dlxtop/ui/term"
)

// snapshotTimeout bounds the writing of a frame.
const snapshotTimeout = 10 * time.Second

// snapshotFile is where a screen is written to.
var snapshotFile = textKind{word: "file", open: func(_ *env, path string) (effect, error) {
	return func(a app) (tea.Model, tea.Cmd) { return a, a.env.snapshot(path, a.View()) }, nil
}}

// The measures of a PNG, in pixels: the width of a cell, and what is around the screen.
const pngCell, pngPadding = 10, 12

// snapshot writes the screen as it is now.
func (e *env) snapshot(path, frame string) tea.Cmd {
	return e.command(snapshotTimeout, func(context.Context) tea.Msg {
		if err := e.writeFrame(path, frame); err != nil {
			return noticeMsg{text: err.Error(), bad: true}
		}
		return noticeMsg{text: "this screen is in " + model.Printable(path)}
	})
}

// writeFrame writes a frame into a new file: as a picture with its colours, or as text. Only its owner can read it: a
// screen may show messages. The error is printable.
func (e *env) writeFrame(path, frame string) error {
	shown := model.Printable(path)
	data, err := e.picture(strings.ToLower(filepath.Ext(path)), frame)
	if err == nil {
		err = writeNew(path, data)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("not written to %s: the file exists already: name another one", shown)
	case err != nil:
		return fmt.Errorf("not written to %s: %s", shown, model.Printable(err.Error()))
	}
	return nil
}

// picture is a frame as a file with this ending has it: a picture on a background like that of the terminal, or text.
func (e *env) picture(ending, frame string) ([]byte, error) {
	look := paint.Dark
	if e.light || e.theme == term.Light {
		look = paint.Light
	}
	screen := look.Frame(frame)
	switch ending {
	case ".svg":
		return []byte(paint.SVG(screen, look)), nil
	case ".png":
		painter, err := paint.New(pngCell, pngPadding)
		if err != nil {
			return nil, err
		}
		drawn, err := painter.Draw(screen, look.Paper)
		if err != nil {
			return nil, err
		}
		var file bytes.Buffer
		err = paint.PNG(&file, drawn)
		return file.Bytes(), err
	}
	return []byte(plainFrame(frame)), nil
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
