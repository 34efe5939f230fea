package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// exportDialog asks for a path and writes messages into a new file.
type exportDialog struct {
	env     *env
	open    bool
	rows    []*messageRow
	words   string // how they were chosen
	path    textField
	wrong   string  // why it could not be written; "" when nothing is wrong
	request request // the writing under way; 0: none
	stop    context.CancelFunc
}

// exportedMsg tells that a file is written, or why it is not.
type exportedMsg struct {
	request request
	path    string
	n       int
	err     error
}

// export opens the dialog for the selection, else for all that are shown.
func (s messagesScreen) export() (screen, tea.Cmd) {
	rows, words := s.table.selection(), "the selection"
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
	s.saving = exportDialog{env: s.env, open: true, rows: rows, words: words, path: newTextField(model.FileName(s.queue, s.env.now()))}
	return s, nil
}

func (d *exportDialog) keys() []key.Binding {
	k := d.env.keys
	if d.request != 0 {
		return []key.Binding{describe(k.Cancel, "stop")}
	}
	return []key.Binding{describe(k.Confirm, "write"), k.Cancel}
}

// update takes keys and the answer to the writing.
func (d exportDialog) update(msg tea.Msg) (exportDialog, tea.Cmd) {
	k := d.env.keys
	switch msg := msg.(type) {
	case exportedMsg:
		if msg.request == d.request {
			return d.exported(msg)
		}
	case tea.KeyMsg:
		switch {
		case d.request != 0:
			if is(msg, k.Cancel) || is(msg, k.ForceQuit) {
				d.stop()
			}
		case is(msg, k.Cancel):
			d.open = false
		case is(msg, k.Confirm):
			return d.write()
		default:
			d.wrong = ""
			d.path.update(msg)
		}
	}
	return d, nil
}

// write starts the writing.
func (d exportDialog) write() (exportDialog, tea.Cmd) {
	path := strings.TrimSpace(d.path.text())
	if path == "" {
		d.wrong = "name a file"
		return d, nil
	}
	d.request = d.env.newRequest()
	var ctx context.Context
	ctx, d.stop = context.WithCancel(context.Background())
	id, e, rows, stop := d.request, d.env, d.rows, d.stop
	return d, e.command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		n, err := e.files.Create(path, func(each func(*model.Message) error) error { return wholeMessages(ctx, rows, each) })
		return exportedMsg{id, path, n, err}
	})
}

// exported takes the end of the writing. When it failed the path can be changed.
func (d exportDialog) exported(msg exportedMsg) (exportDialog, tea.Cmd) {
	d.stop()
	d.request = 0
	switch {
	case errors.Is(msg.err, context.Canceled):
		d.open = false
		return d, notice("stopped: no file was written", true)
	case msg.err != nil:
		d.wrong = readableError(msg.err)
		return d, nil
	}
	d.open = false
	return d, notice(fmt.Sprintf("%s written to %s", model.Plural(msg.n, "message"), model.Printable(msg.path)), false)
}

// view draws the dialog.
func (d *exportDialog) view(width int) string {
	outer := min(dialogWidth, width-4)
	l := &dialogLines{styles: d.env.styles, width: outer - 4}
	s := l.styles
	l.say("export", d.words+": "+model.Plural(len(d.rows), "message")+", one line of JSON each, as `dlxtop import` and jq read them; they stay in the queue", s.Text)
	l.lines = append(l.lines, s.Muted.Render(fit("to", labelWidth, false, false))+d.path.view(s, l.width-labelWidth))
	if d.wrong != "" {
		l.say("", markError+" "+model.Printable(d.wrong), s.Danger)
	}
	l.blank()
	if d.request != 0 {
		l.hints(s.Accent.Render("writing … ") + hint(s, "esc", "stop"))
	} else {
		l.hints(hint(s, "enter", "write a new file") + hint(s, "esc", "back"))
	}
	return framed(s, "Export "+model.Plural(len(d.rows), "message"), l.lines, outer)
}
