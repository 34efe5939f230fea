package ui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

// exportDialog asks for a path and writes messages into new files: the one at the path, or one for each queue in the
// directory at the path.
type exportDialog struct {
	dialog
	parts []exportPart
	words string // how they were chosen
	path  term.TextField
	wrong string // why it could not be written; "" when nothing is wrong
}

// exportPart are the messages of one file.
type exportPart struct {
	name string // in the directory; "": the path names the file
	rows []*messageRow
}

// exportedFiles is what was written.
type exportedFiles struct {
	paths    []string
	messages int
}

// messages are how many there are.
func (d *exportDialog) messages() (n int) {
	for _, p := range d.parts {
		n += len(p.rows)
	}
	return n
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
	case endedMsg[exportedFiles]:
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
	path, err := absolute(path)
	if err != nil {
		d.wrong = err.Error()
		return d, nil
	}
	files, parts := d.env.files, d.parts
	cmd := running(&d.dialog, func(ctx context.Context) (done exportedFiles, err error) {
		for _, p := range parts {
			at := path
			if p.name != "" {
				at = filepath.Join(path, p.name)
			}
			n, err := files.Create(at, func(each func(*message.Message) error) error {
				return wholeMessages(ctx, p.rows, each)
			})
			if err != nil {
				return done, err
			}
			done.paths, done.messages = append(done.paths, at), done.messages+n
		}
		return done, nil
	})
	return d, cmd
}

// written takes the end of the writing. When it failed the path can be changed.
func (d exportDialog) written(what exportedFiles) (exportDialog, tea.Cmd) {
	d.state = dialogClosed
	files := ""
	switch n := len(what.paths); {
	case n == 1:
		files = model.Printable(what.paths[0])
	case n > 1:
		files = fmt.Sprintf("%s and %s", model.Printable(what.paths[0]), model.Plural(n-1, "further file"))
	}
	words := fmt.Sprintf("%s written to %s", model.Plural(what.messages, "message"), files)
	switch {
	case errors.Is(d.err, context.Canceled) && files == "":
		return d, notice("stopped: no file was written", true)
	case errors.Is(d.err, context.Canceled):
		return d, notice("stopped: "+words, true)
	case d.err != nil && files != "":
		d.parts = d.parts[len(what.paths):] // what is written stays
		d.state, d.wrong = dialogAsking, readableError(d.err)+"; "+words
		return d, nil
	case d.err != nil:
		d.state, d.wrong = dialogAsking, readableError(d.err)
		return d, nil
	}
	return d, notice(words, false)
}

// view draws the dialog.
func (d *exportDialog) view(width int) string {
	l := newDialogLines(d.env.styles, width)
	s := l.styles
	n, to, enter := model.Plural(d.messages(), "message"), "to", "write a new file"
	l.say("export", d.words+": "+n+
		", one line of JSON each, as `dlxtop import` and jq read them; they stay in the queue", s.Text)
	if d.parts[0].name != "" {
		to, enter = "into", "write "+model.Plural(len(d.parts), "new file")
		l.say("files", "one for each queue: "+d.parts[0].name+", …", s.Text)
	}
	l.lines = append(l.lines, s.Muted.Render(term.Fit(to, labelWidth, false, false))+d.path.View(s, l.width-labelWidth))
	if d.wrong != "" {
		l.say("", term.MarkError+" "+model.Printable(d.wrong), s.Danger)
	}
	l.blank()
	if d.state != dialogAsking {
		l.hints(s.Accent.Render("writing … ") + hint(s, "esc", "stop"))
	} else {
		l.hints(hint(s, "enter", enter) + hint(s, "esc", "back"))
	}
	return l.box("Export " + n)
}
