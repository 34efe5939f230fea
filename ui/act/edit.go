package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// usualEditors are tried when none is configured.
var usualEditors = []string{"vi", "nano"}

// findEditor returns the command that edits a file: the configured one, otherwise a usual one.
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

// messageEdit is the editing of one message: its draft, and the result.
type messageEdit struct {
	state       editState
	was, is     draft.Draft
	differences draftDifferences
	text        []byte             // as the editor left it
	wrong       string             // why it cannot be parsed
	stop        context.CancelFunc // cancels the reading
}

type editState int

const (
	editNone    editState = iota
	editDone              // with a text that can be parsed
	editReading           // the whole message is being read
	editOpen              // it is in the editor
	editWrong             // the edited text cannot be parsed; it can be opened again
)

// open reports whether there is no plan before the editing has ended.
func (e *messageEdit) open() bool { return e.state > editDone }

// BeginEdit opens a message in an editor, and then asks about its replay.
func (d *PlanDialog) BeginEdit(e *shell.Env, about Subject) (cmd tea.Cmd) {
	d.reset(e, plan.Replay, about)
	d.State, d.edit.state, d.Request = shell.DialogChoosing, editReading, e.NewRequest()
	id := d.Request
	cmd, d.edit.stop = e.Stoppable(func(ctx context.Context) tea.Msg {
		read := shell.EndedMsg[*message.Message]{Request: id}
		read.Err = shell.WholeMessages(ctx, about.Rows, func(m *message.Message) error {
			read.Result = m
			return nil
		})
		return read
	})

	return cmd
}

// drafted opens the message that was read in the editor.
func (d *PlanDialog) drafted(read shell.EndedMsg[*message.Message]) tea.Cmd {
	if read.Request != d.Request || d.edit.state != editReading {
		return nil
	}
	d.edit.stop()
	if read.Err != nil {
		d.State = shell.DialogClosed
		return shell.Notice(shell.ReadableError(read.Err), true)
	}

	d.edit.was = plan.NewDraft(d.Topology, d.Queue, read.Result, d.Env.Broker.User())
	d.edit.text = d.edit.was.Text()
	return d.openEditor()
}

// openEditor lends the terminal to an editor, with the text as it was last left.
func (d *PlanDialog) openEditor() tea.Cmd {
	d.State, d.edit.state, d.Request = shell.DialogChoosing, editOpen, d.Env.NewRequest()
	id := d.Request
	e := d.Env
	text := d.edit.text

	return e.Command(0, func(context.Context) tea.Msg {
		editor, err := findEditor(e.Editor)
		if err != nil {
			return shell.EndedMsg[[]byte]{Request: id, Err: err}
		}
		lent := &drafting{Borrowed: shell.Borrowed{Screen: e.Screen}, program: e.Work.Ctx, text: text}
		lent.Cmd = exec.Command("sh", "-c", editor+` "$1"`, "dlxtop") // VISUAL and EDITOR may have arguments
		lent.Stdin = os.Stdin                                         // copying it would steal the screen's next key
		return shell.LendMsg{Program: lent, Over: func(err error) tea.Msg {
			return shell.EndedMsg[[]byte]{Request: id, Result: lent.text, Err: err}
		}}
	})
}

// edited reads the edited text, and plans its replay or says why it cannot be. An edited address is the first
// target.
func (d *PlanDialog) edited(saved shell.EndedMsg[[]byte]) tea.Cmd {
	if saved.Request != d.Request || d.edit.state != editOpen {
		return nil
	}
	if saved.Err != nil {
		d.State = shell.DialogClosed
		return shell.Notice(saved.Err.Error(), true)
	}

	d.edit.text = saved.Result
	is, err := draft.Parse(d.edit.text)
	if err != nil {
		d.edit.state, d.edit.wrong = editWrong, err.Error()
		return nil
	}

	edit := d.edit
	d.reset(d.Env, d.Operation, d.Subject)
	edit.state, edit.is, edit.differences = editDone, is, draftDifferencesOf(&edit.was, &is)
	d.edit = edit
	if !edit.was.Same(&is) {
		d.Edited = &is
	}
	if to := is.Address; to != edit.was.Address {
		typed := ReplayTarget{
			mode: target.ToExchange, fixed: to, name: "edited: the exchange and the key as they were typed",
		}
		if to.Exchange == "" {
			typed.mode = target.ToQueue
			typed.fixed = model.Address{RoutingKey: to.RoutingKey}
		}
		d.Modes = append([]ReplayTarget{typed}, d.Modes...)
	}

	return d.Work()
}

// editing is the dialog until there is a text that can be planned.
type editing struct{ *PlanDialog }

func (d editing) Keys() []term.Key {
	wrong := d.edit.state == editWrong
	return []term.Key{
		term.On(press.Edit, "", d.openEditor).As("edit again").When(wrong),
		term.On(press.Cancel, "", func() {
			d.edit.stop()
			d.State = shell.DialogClosed
		}).AsIf(wrong, "discard the edit").When(d.edit.state != editOpen),
	}
}

func (d editing) Press(msg tea.KeyMsg) tea.Cmd {
	cmd, _ := term.Press(d.Keys(), msg)
	return cmd
}

func (d editing) View(width, _ int) string {
	l := shell.NewDialogLines(width)
	switch d.edit.state {
	case editReading:
		l.Say("", "reading the whole message …", term.Muted)
		l.Blank()
		l.Hints(shell.Hint("esc", "stop"))
	case editOpen:
		l.Say("", "the editor has the message …", term.Muted)
	case editWrong:
		l.Fail("what was typed cannot be read: " + d.edit.wrong)
		l.Say("", "Nothing is lost, and nothing was sent.")
		l.Blank()
		l.Keys(d.Keys()...)
	}

	return l.Box("Edit, then replay")
}

// mostDifferences is how many lines of them are laid out for a dialog, which has no room for more.
const mostDifferences = 100

func (d *QueueAction) askEdit(l *shell.DialogLines) {
	if d.edit.state != editDone {
		return
	}
	changes := d.edit.differences.lay(l.Width)
	if len(changes) == 0 {
		l.Say("edited", "nothing was changed in the editor: this is a plain replay", term.Warning)
		return
	}

	l.Say("edited", "before and after:", term.Muted)
	for _, line := range changes[:min(len(changes), mostDifferences)] {
		l.Minor = append(l.Minor, len(l.Lines))
		l.Lines = append(l.Lines, line)
	}
}
