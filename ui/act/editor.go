package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
)

// usualEditors are looked for when nobody names one.
var usualEditors = []string{"vi", "nano"}

// draftFile is a private folder with one file in it: what an editor leaves beside the file goes with it.
type draftFile struct {
	path string
	over chan struct{} // closed when it is not needed any more
}

// WrittenMsg brings the file that the editor is to open.
type WrittenMsg struct {
	Request shell.Request
	file    *draftFile
	editor  string
	Err     error
}

// ClosedMsg tells that the editor has ended; savedMsg brings what it left.
type (
	ClosedMsg struct {
		Request shell.Request
		file    *draftFile
		err     error
	}
	SavedMsg struct {
		Request shell.Request
		Text    []byte
		Err     error
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

// WriteDraft writes a text into a private file. It is removed when it is not needed any more, and when the program
// ends.
func WriteDraft(e *shell.Env, id shell.Request, text []byte) tea.Cmd {
	return e.Command(0, func(context.Context) tea.Msg {
		editor, err := findEditor(e.Editor)
		if err != nil {
			return WrittenMsg{Request: id, Err: err}
		}
		dir, err := os.MkdirTemp("", "dlxtop-edit-") // 0700
		if err != nil {
			return WrittenMsg{Request: id, Err: fmt.Errorf("cannot create a file to edit: %w", err)}
		}
		f := &draftFile{path: filepath.Join(dir, "message.txt"), over: make(chan struct{})}
		program, done, ok := e.Work.Begin(0)
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
			return WrittenMsg{Request: id, Err: fmt.Errorf("cannot create a file to edit: %w", err)}
		}
		return WrittenMsg{id, f, editor, nil}
	})
}

// RunEditor hands the terminal to the editor. The command may have arguments, as VISUAL and EDITOR have: a shell takes
// it apart.
func RunEditor(e *shell.Env, msg WrittenMsg) tea.Cmd {
	editor := exec.Command("sh", "-c", msg.editor+` "$1"`, "dlxtop", msg.file.path)
	editor.Stdin = os.Stdin // a copy of it would take the next key from the screen
	over := func(err error) tea.Msg { return ClosedMsg{msg.Request, msg.file, err} }
	return func() tea.Msg {
		return shell.LendMsg{Program: shell.Borrowed{Cmd: editor, Screen: e.Screen}, Over: over}
	}
}

// ReadDraft reads what the editor left, and removes it.
func ReadDraft(e *shell.Env, msg ClosedMsg) tea.Cmd {
	return e.Command(0, func(context.Context) tea.Msg {
		defer close(msg.file.over)
		text, err := os.ReadFile(msg.file.path)
		switch {
		case msg.err != nil:
			err = fmt.Errorf("the editor ended with an error (%w): nothing was done", msg.err)
		case err != nil:
			err = fmt.Errorf("what the editor left cannot be read: %w", err)
		}
		return SavedMsg{msg.Request, text, err}
	})
}
