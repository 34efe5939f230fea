package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// usualEditors are looked for when nobody names one.
var usualEditors = []string{"vi", "nano"}

// draftFile is a private folder with one file in it: what an editor leaves beside the file goes with it.
type draftFile struct {
	path string
	over chan struct{} // closed when it is not needed any more
}

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

func (d *PlanDialog) askEdit(l *shell.DialogLines) {
	if d.edit == nil {
		return
	}
	changes := d.edit.differences.lay(l.Styles, l.Width)
	if len(changes) == 0 {
		l.Say("edited", "nothing was changed in the editor: this is a plain replay", l.Styles.Warning)
		return
	}
	l.Say("edited", "before and after:", l.Styles.Muted)
	for _, line := range changes[:min(len(changes), mostDifferences)] {
		l.Minor = append(l.Minor, len(l.Lines))
		l.Lines = append(l.Lines, line)
	}
}

// MessageEdit is the editing of one message: its draft, and what was made of it.
type MessageEdit struct {
	Env         *shell.Env
	State       editState
	Row         *shell.MessageRow
	Was         draft.Draft
	Is          draft.Draft
	differences draftDifferences
	Text        []byte // as the editor left it
	Wrong       string // why it cannot be read
	Request     shell.Request
	Stop        context.CancelFunc // of the reading
}

func (e *MessageEdit) Open() bool { return e.State != EditIdle }

func (e *MessageEdit) Keys() []key.Binding {
	k := e.Env.Keys
	if e.State == EditWrong {
		return []key.Binding{term.Describe(k.Edit, "edit again"), term.Describe(k.Cancel, "discard the edit")}
	}
	return []key.Binding{k.Cancel}
}

// View draws what stands between the person and the plan.
func (e *MessageEdit) View(width int) string {
	l := shell.NewDialogLines(e.Env.Styles, width)
	s := l.Styles
	switch e.State {
	case EditReading:
		l.Say("", "reading the whole message …", s.Muted)
		l.Blank()
		l.Hints(shell.Hint(s, "esc", "stop"))
	case EditOpen:
		l.Say("", "the editor has the message …", s.Muted)
	case EditWrong:
		l.Say("", term.MarkError+" what was typed cannot be read: "+model.Printable(e.Wrong), s.Danger)
		l.Say("", "Nothing is lost, and nothing was sent.", s.Text)
		l.Blank()
		l.Keys(e.Keys()...)
	}
	return l.Box("Edit, then replay")
}

// NewEditedDialog is the dialog of a replay of what was edited. An address that was edited is the first of its targets.
func NewEditedDialog(
	e *shell.Env, t *model.Topology, queue model.QueueRef, edit MessageEdit, others OtherMessages,
) (PlanDialog, tea.Cmd) {
	d, _ := NewPlanDialog(e, t, plan.Replay, queue, []*shell.MessageRow{edit.Row}, "the edited message", others)
	edit.differences = draftDifferencesOf(&edit.Was, &edit.Is)
	d.edit = &edit
	if is := edit.Is.Address; is != edit.Was.Address {
		edited := ReplayTarget{
			mode: target.ToExchange, fixed: is, name: "edited: the exchange and the key as they were typed",
		}
		if is.Exchange == "" {
			edited.mode, edited.fixed = target.ToQueue, model.Address{RoutingKey: is.RoutingKey}
		}
		d.Modes = append([]ReplayTarget{edited}, d.Modes...)
	}
	cmd := d.Work()
	return d, cmd
}

func (d *PlanDialog) MendsAgain(msg tea.KeyMsg) bool {
	return d.State == shell.DialogAsking && !d.Consent.Asked && d.Mend != nil && term.Is(msg, d.Env.Keys.Mend)
}

const (
	EditIdle    editState = iota
	EditReading           // the whole message is being read
	EditOpen              // the editor has it
	EditWrong             // what it left cannot be read; it can be opened again
)

type editState int

// mostDifferences is how many lines of them are laid for a dialog, which has no room for more.
const mostDifferences = 100
