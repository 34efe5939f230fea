package act

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// ExportDialog asks for a path and writes messages into new files: the one at the path, or one for each queue in the
// directory at the path.
type ExportDialog struct {
	shell.Dialog
	Parts []ExportPart
	Words string // how they were selected
	Path  term.TextField
	wrong string // why it could not be written; "" otherwise
}

// ExportPart are the messages of one file.
type ExportPart struct {
	Name string // in the directory; "": the path names the file
	Rows []*shell.MessageRow
}

type ExportedFiles struct {
	paths    []string
	messages int
}

func (d *ExportDialog) messages() (n int) {
	for _, p := range d.Parts {
		n += len(p.Rows)
	}
	return n
}

func (d *ExportDialog) Keys() []term.Key {
	leave := func() tea.Cmd {
		d.State = shell.DialogClosed
		return nil
	}

	if d.State != shell.DialogAsking {
		return d.Dialog.Keys(&shell.Offer{}, shell.Answers{Back: leave})
	}
	writes := "write a new file"
	if d.Parts[0].Name != "" {
		writes = model.Sayf("write %v new file(s)", len(d.Parts))
	}

	return []term.Key{term.On(press.Confirm, "", d.write).As(writes), term.On(press.Cancel, "", leave)}
}

func (d *ExportDialog) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.EndedMsg[ExportedFiles]:
		if d.Ended(msg.Request, msg.Err) {
			return d.written(msg.Result)
		}
	case tea.KeyMsg:
		cmd = d.Press(msg)
	}

	return cmd
}

func (d *ExportDialog) Press(msg tea.KeyMsg) tea.Cmd {
	cmd, pressed := term.Press(d.Keys(), msg)
	if !pressed && d.State == shell.DialogAsking {
		d.wrong = ""
		d.Path.Update(msg)
	}

	return cmd
}

func (d *ExportDialog) write() tea.Cmd {
	path := strings.TrimSpace(d.Path.Text())
	if path == "" {
		d.wrong = "name a file"
		return nil
	}

	path, err := shell.Absolute(path)
	if err != nil {
		d.wrong = err.Error()
		return nil
	}

	files, parts := d.Env.Files, d.Parts
	return shell.Running(&d.Dialog, func(ctx context.Context) (done ExportedFiles, err error) {
		for _, p := range parts {
			at := path
			if p.Name != "" {
				at = filepath.Join(path, p.Name)
			}

			n, err := files.Create(at, func(each message.Visit) error {
				return shell.WholeMessages(ctx, p.Rows, each)
			})
			if err != nil {
				return done, err
			}
			done.paths = append(done.paths, at)
			done.messages = done.messages + n
		}

		return done, nil
	})
}

// written handles the end of the writing. If it failed the path can be changed.
func (d *ExportDialog) written(what ExportedFiles) tea.Cmd {
	d.State = shell.DialogClosed
	files := ""
	n := len(what.paths)
	switch {
	case n == 1:
		files = what.paths[0]
	case n > 1:
		files = model.Sayf("%s and %v further file(s)", what.paths[0], n-1)
	}

	words := model.Sayf("%v message(s) written to %s", what.messages, files)
	if d.Err == nil {
		return shell.Notice(words, false)
	}
	if files == "" {
		words = "no file was written"
	}
	if errors.Is(d.Err, context.Canceled) {
		return shell.Notice("stopped: "+words, true)
	}
	d.State, d.wrong = shell.DialogAsking, shell.ReadableError(d.Err)
	if files != "" {
		d.wrong += "; " + words
	}

	d.Parts = d.Parts[len(what.paths):] // files already written stay
	return nil
}

func (d *ExportDialog) View(width, _ int) string {
	l := shell.NewDialogLines(width)
	n := model.Plural(d.messages(), "message")
	to := "to"
	l.Say("export", d.Words+": "+n+
		", one line of JSON each, as `dlxtop import` and jq read them; they stay in the queue")

	if d.Parts[0].Name != "" {
		to = "into"
		l.Say("files", "one for each queue: "+d.Parts[0].Name+", …")
	}

	l.Named(to, &d.Path)
	if d.wrong != "" {
		l.Fail(d.wrong)
	}

	l.Blank()
	if d.State != shell.DialogAsking {
		l.Say("", "writing …", term.Accent)
	}
	l.Keys(d.Keys()...)

	return l.Box("Export " + n)
}
