package ui

import (
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

	"dlxtop/model"
	"dlxtop/ui/term"
)

// snapshotTimeout bounds the writing of a frame.
const snapshotTimeout = 10 * time.Second

// snapshotFile is where a screen is written to.
var snapshotFile = textKind{word: "file", open: func(_ *env, path string) (effect, error) {
	return func(a app) (tea.Model, tea.Cmd) { return a, a.env.snapshot(path, a.View()) }, nil
}}

// The endings of files that mean something. A PNG would need a font: one in the program, or the luck of one on the
// user's system. An SVG names fonts, and is drawn with those of who looks at it.
const (
	svgEnding = ".svg"
	pngEnding = ".png"
)

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
	picture := plainFrame
	switch strings.ToLower(filepath.Ext(path)) {
	case pngEnding:
		return fmt.Errorf("not written to %s: a PNG needs a font, which dlxtop has not; FILE%s is a picture that "+
			"browsers show", shown, svgEnding)
	case svgEnding:
		picture = e.svg
	}
	err := writeNew(path, picture(frame))
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("not written to %s: the file exists already: name another one", shown)
	case err != nil:
		return fmt.Errorf("not written to %s: %s", shown, model.Printable(err.Error()))
	}
	return nil
}

// svg is a frame as a picture, on a background like that of the terminal.
func (e *env) svg(frame string) string {
	return term.SVG(frame, e.light || e.theme == term.Light)
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
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
