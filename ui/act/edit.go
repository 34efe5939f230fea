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

// usualEditors are tried when none is configured.
var usualEditors = []string{"vi", "nano"}

// SavedMsg brings the edited text.
type SavedMsg struct {
	Request shell.Request
	Text    []byte
	Err     error
}

// findEditor is the command that edits a file: the configured one, otherwise a usual one.
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

// OpenEditor lends the terminal to an editor for a text.
func OpenEditor(e *shell.Env, id shell.Request, text []byte) tea.Cmd {
	return e.Command(0, func(context.Context) tea.Msg {
		editor, err := findEditor(e.Editor)
		if err != nil {
			return SavedMsg{Request: id, Err: err}
		}
		d := &drafting{Borrowed: shell.Borrowed{Screen: e.Screen}, program: e.Work.Ctx, text: text}
		d.Cmd = exec.Command("sh", "-c", editor+` "$1"`, "dlxtop") // VISUAL and EDITOR may have arguments
		d.Stdin = os.Stdin                                         // copying it would steal the screen's next key
		return shell.LendMsg{Program: d, Over: func(err error) tea.Msg { return SavedMsg{id, d.text, err} }}
	})
}

// drafting is an editor with its text.
type drafting struct {
	shell.Borrowed
	program context.Context
	text    []byte
}

// Run edits the text in a file of a private folder: files that an editor leaves beside it are removed with the folder,
// even when the program ends before the editor.
func (d *drafting) Run() error {
	dir, err := os.MkdirTemp("", "dlxtop-edit-") // 0700
	if err != nil {
		return fmt.Errorf("cannot create a file to edit: %w", err)
	}
	defer os.RemoveAll(dir)
	defer context.AfterFunc(d.program, func() { _ = os.RemoveAll(dir) })()
	path := filepath.Join(dir, "message.txt")
	if err := os.WriteFile(path, d.text, 0o600); err != nil {
		return fmt.Errorf("cannot create a file to edit: %w", err)
	}
	d.Args = append(d.Args, path)
	if err := d.Borrowed.Run(); err != nil {
		return fmt.Errorf("the editor ended with an error (%w): nothing was done", err)
	}
	if d.text, err = os.ReadFile(path); err != nil {
		return fmt.Errorf("what the editor left cannot be read: %w", err)
	}
	return nil
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

// MessageEdit is the editing of one message: its draft, and the result.
type MessageEdit struct {
	Env         *shell.Env
	State       editState
	Row         *shell.MessageRow
	Was         draft.Draft
	Is          draft.Draft
	differences draftDifferences
	Text        []byte // as the editor left it
	Wrong       string // why it cannot be parsed
	Request     shell.Request
	Stop        context.CancelFunc // cancels the reading
}

func (e *MessageEdit) Open() bool { return e.State != EditIdle }

func (e *MessageEdit) Keys() []key.Binding {
	k := e.Env.Keys
	if e.State == EditWrong {
		return []key.Binding{term.Describe(k.Edit, "edit again"), term.Describe(k.Cancel, "discard the edit")}
	}
	return []key.Binding{k.Cancel}
}

// View draws the editing until there is a plan.
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

// NewEditedDialog is the dialog for replaying an edited message. An edited address is its first target.
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
	EditOpen              // it is in the editor
	EditWrong             // the edited text cannot be parsed; it can be opened again
)

type editState int

// mostDifferences is how many lines of them are laid out for a dialog, which has no room for more.
const mostDifferences = 100
