package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	tea "github.com/charmbracelet/bubbletea"
)

// usualEditors are looked for when nobody names one.
var usualEditors = []string{"vi", "nano"}

// draftFile is a private folder with one file in it: what an editor leaves beside the file goes with it.
type draftFile struct {
	path string
	over chan struct{} // closed when it is not needed any more
}

// writtenMsg brings the file that the editor is to open.
type writtenMsg struct {
	request request
	file    *draftFile
	editor  string
	err     error
}

// closedMsg tells that the editor has ended; savedMsg brings what it left.
type (
	closedMsg struct {
		request request
		file    *draftFile
		err     error
	}
	savedMsg struct {
		request request
		text    []byte
		err     error
	}
)

// findEditor is the command that edits a file: the one that the user named, else a usual one.
func findEditor(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	for _, name := range usualEditors {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("there is no editor: name one in VISUAL or EDITOR, or install vi or nano")
}

// writeDraft writes a text into a private file. It is removed when it is not needed any more, and when the program
// ends.
func writeDraft(e *env, id request, text []byte) tea.Cmd {
	return e.command(0, func(context.Context) tea.Msg {
		editor, err := findEditor(e.editor)
		if err != nil {
			return writtenMsg{request: id, err: err}
		}
		dir, err := os.MkdirTemp("", "dlxtop-edit-") // 0700
		if err != nil {
			return writtenMsg{request: id, err: fmt.Errorf("cannot create a file to edit: %w", err)}
		}
		f := &draftFile{path: filepath.Join(dir, "message.txt"), over: make(chan struct{})}
		program, done, ok := e.work.begin(0)
		if !ok {
			_ = os.RemoveAll(dir)
			return nil
		}
		go func() {
			defer done()
			select {
			case <-f.over:
			case <-program.Done():
			}
			_ = os.RemoveAll(dir)
		}()
		if err := os.WriteFile(f.path, text, 0o600); err != nil {
			close(f.over)
			return writtenMsg{request: id, err: fmt.Errorf("cannot create a file to edit: %w", err)}
		}
		return writtenMsg{id, f, editor, nil}
	})
}

// runEditor hands the terminal to the editor. The command may have arguments, as VISUAL and EDITOR have: a shell takes
// it apart.
func runEditor(e *env, msg writtenMsg) tea.Cmd {
	editor := exec.Command("sh", "-c", msg.editor+` "$1"`, "dlxtop", msg.file.path)
	editor.Stdin = os.Stdin // a copy of it would take the next key from the screen
	over := func(err error) tea.Msg { return closedMsg{msg.request, msg.file, err} }
	return func() tea.Msg { return lendMsg{borrowed{editor, e.screen}, over} }
}

// readDraft reads what the editor left, and removes it.
func readDraft(e *env, msg closedMsg) tea.Cmd {
	return e.command(0, func(context.Context) tea.Msg {
		defer close(msg.file.over)
		text, err := os.ReadFile(msg.file.path)
		switch {
		case msg.err != nil:
			err = fmt.Errorf("the editor ended with an error (%w): nothing was done", msg.err)
		case err != nil:
			err = fmt.Errorf("what the editor left cannot be read: %w", err)
		}
		return savedMsg{msg.request, text, err}
	})
}
