package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/model/message"
	"dlxtop/ui/term"
)

// exportDialog asks for a path and writes messages into a new file.
type exportDialog struct {
	dialog
	rows  []*messageRow
	words string // how they were chosen
	path  term.TextField
	wrong string // why it could not be written; "" when nothing is wrong
}

// exportedFile is what was written.
type exportedFile struct {
	path string
	n    int // messages
}

// export opens the dialog for the selection, else for all that are shown.
func (s messagesScreen) export() (screen, tea.Cmd) {
	rows, words := s.table.Selection(), "the selection"
	if len(rows) == 0 {
		rows, words = s.allShown()
	}
	switch {
	case s.env.files == nil || s.topology == nil:
		return s, nil
	case len(rows) == 0:
		return s, notice("there is nothing to export", true)
	case s.filter.pending():
		return s, notice("the filter is still being applied: try again in a moment", true)
	}
	s.walk = nil // a file is of one queue
	s.saving = exportDialog{
		dialog: newDialog(s.env, dialogAsking), rows: rows, words: words,
		path: term.NewTextField(message.FileName(s.queue, s.env.now())),
	}
	return s, nil
}

func (d *exportDialog) keys() []key.Binding {
	k := d.env.keys
	if d.state != dialogAsking {
		return []key.Binding{term.Describe(k.Cancel, "stop")}
	}
	return []key.Binding{term.Describe(k.Confirm, "write"), k.Cancel}
}

// update takes keys and the answer to the writing.
func (d exportDialog) update(msg tea.Msg) (exportDialog, tea.Cmd) {
	k := d.env.keys
	switch msg := msg.(type) {
	case endedMsg[exportedFile]:
		if d.ended(msg.request, msg.err) {
			return d.written(msg.result)
		}
	case tea.KeyMsg:
		switch {
		case d.state == dialogAsking && term.Is(msg, k.Confirm):
			return d.write()
		case d.press(msg, &offer{}) == pressedBack:
			d.state = dialogClosed
		case d.state == dialogAsking:
			d.wrong = ""
			d.path.Update(msg)
		}
	}
	return d, nil
}

// write starts the writing.
func (d exportDialog) write() (exportDialog, tea.Cmd) {
	path := strings.TrimSpace(d.path.Text())
	if path == "" {
		d.wrong = "name a file"
		return d, nil
	}
	files, rows := d.env.files, d.rows
	cmd := running(&d.dialog, func(ctx context.Context) (exportedFile, error) {
		n, err := files.Create(path, func(each func(*message.Message) error) error {
			return wholeMessages(ctx, rows, each)
		})
		return exportedFile{path, n}, err
	})
	return d, cmd
}

// written takes the end of the writing. When it failed the path can be changed.
func (d exportDialog) written(what exportedFile) (exportDialog, tea.Cmd) {
	d.state = dialogClosed
	switch {
	case errors.Is(d.err, context.Canceled):
		return d, notice("stopped: no file was written", true)
	case d.err != nil:
		d.state, d.wrong = dialogAsking, readableError(d.err)
		return d, nil
	}
	words := fmt.Sprintf("%s written to %s", model.Plural(what.n, "message"), model.Printable(what.path))
	return d, notice(words, false)
}

// view draws the dialog.
func (d *exportDialog) view(width int) string {
	l := newDialogLines(d.env.styles, width)
	s := l.styles
	l.say("export", d.words+": "+model.Plural(len(d.rows), "message")+
		", one line of JSON each, as `dlxtop import` and jq read them; they stay in the queue", s.Text)
	l.lines = append(l.lines, s.Muted.Render(term.Fit("to", labelWidth, false, false))+d.path.View(s, l.width-labelWidth))
	if d.wrong != "" {
		l.say("", term.MarkError+" "+model.Printable(d.wrong), s.Danger)
	}
	l.blank()
	if d.state != dialogAsking {
		l.hints(s.Accent.Render("writing … ") + hint(s, "esc", "stop"))
	} else {
		l.hints(hint(s, "enter", "write a new file") + hint(s, "esc", "back"))
	}
	return l.box("Export " + model.Plural(len(d.rows), "message"))
}
