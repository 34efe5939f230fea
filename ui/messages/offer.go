package messages

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// export opens the dialog for the selection, else for all that are shown.
func (s Screen) export() (shell.Screen, tea.Cmd) {
	rows, words := s.selected()
	switch why := s.unready(); {
	case s.env.Files == nil || s.Topology == nil:
		return s, nil
	case why != "":
		return s, shell.Notice(why, true)
	case len(rows) == 0:
		return s, shell.Notice("there is nothing to export", true)
	}
	s.saving = act.ExportDialog{
		Dialog: shell.NewDialog(s.env, shell.DialogAsking), Parts: []act.ExportPart{{Rows: rows}}, Words: words,
		Path: term.NewTextField(message.FileName(s.Queue, s.env.Now())),
	}
	return s, nil
}

// offer finds the actions that the message under the cursor has the fields for.
func (s *Screen) offer() {
	if len(s.env.Actions) == 0 {
		return
	}
	row, ok := s.Table.Current()
	if !ok || row.Whole() == nil {
		s.offered, s.offeredOf = nil, nil
		return
	}
	if s.offeredOf == row.Whole() {
		return
	}
	s.offered, s.offeredOf = nil, row.Whole()
	for i := range s.env.Actions {
		if a := &s.env.Actions[i]; a.Offered(s.offeredOf) {
			s.offered = append(s.offered, act.ActionKey(a))
		}
	}
}

// custom does what an action of the configuration says, if the key is one of theirs.
func (s Screen) custom(msg tea.KeyMsg) (cmd tea.Cmd, taken bool) {
	for i := range s.env.Actions {
		a := &s.env.Actions[i]
		if !term.Is(msg, act.ActionKey(a)) {
			continue
		}
		row, ok := s.Table.Current()
		if !ok {
			return shell.Notice("no message is under the cursor: move it onto one first", true), true
		}
		clipboard, open := s.env.ToClipboard(), s.env.Opener
		return s.env.Command(act.ActionTimeout, func(ctx context.Context) tea.Msg {
			m := shell.Parts(nil, row).Whole
			if a.IsURL() {
				return act.OpenURL(ctx, a, m, clipboard, open)
			}
			return act.RunCommand(ctx, a, m)
		}), true
	}
	return nil, false
}

// copyKey takes the key that says what to copy; any other key copies nothing.
func (s Screen) copyKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	s.copying = false
	row, ok := s.Table.Current()
	if !ok {
		return s, nil
	}
	var of func(*message.Message) (what, text string)
	k := s.env.Keys
	switch {
	case term.Is(msg, k.CopyBody):
		of = shell.BodyToCopy
	case term.Is(msg, k.CopyHeaders):
		of = shell.HeadersToCopy
	case term.Is(msg, k.CopyID):
		of = func(m *message.Message) (what, text string) {
			return "the id " + m.Properties.MessageID, m.Properties.MessageID
		}
	case term.Is(msg, k.CopyJSON):
		of = func(m *message.Message) (what, text string) { return "the message as JSON", shell.MessageJSON(m) }
	default:
		return s, nil
	}
	out := s.env.ToClipboard()
	return s, s.env.Command(0, func(context.Context) tea.Msg {
		m := shell.Parts(nil, row).Whole
		what, text := of(m)
		if text == "" && term.Is(msg, k.CopyID) {
			return shell.NoticeMsg{Text: "this message has no id", Bad: true}
		}
		return shell.CopyText(out, what, text)
	})
}

// compare opens two selected messages side by side.
func (s Screen) compare() (shell.Screen, tea.Cmd) {
	chosen := s.Table.Selection()
	if len(chosen) != 2 {
		return s, shell.Notice(fmt.Sprintf("%s selected: %s selects the two to compare",
			model.Plural(len(chosen), "message"), s.env.Keys.Choose.Help().Key), true)
	}
	return s, shell.Push(act.NewCompareScreen(s.env, s.Queue, chosen[0], chosen[1]))
}

// NewCauseExport asks where the messages of a cause in several queues are written to.
func NewCauseExport(e *shell.Env, queues []Screen, words string) act.ExportDialog {
	d := act.ExportDialog{Dialog: shell.NewDialog(e, shell.DialogAsking), Words: words, Path: term.NewTextField(".")}
	names := map[string]bool{}
	for i := range queues {
		q := &queues[i]
		if len(q.Table.Shown) == 0 {
			continue
		}
		named, name := q.Queue, message.FileName(q.Queue, e.Now())
		for n := 2; names[name]; n++ { // of another virtual host
			named.Name = fmt.Sprintf("%s-%d", q.Queue.Name, n)
			name = message.FileName(named, e.Now())
		}
		names[name] = true
		d.Parts = append(d.Parts, act.ExportPart{Name: name, Rows: q.Table.Shown})
	}
	return d
}
