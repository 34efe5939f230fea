package ui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

// export opens the dialog for the selection, else for all that are shown.
func (s messagesScreen) export() (screen, tea.Cmd) {
	rows, words := s.selected()
	switch why := s.unready(); {
	case s.env.files == nil || s.topology == nil:
		return s, nil
	case why != "":
		return s, notice(why, true)
	case len(rows) == 0:
		return s, notice("there is nothing to export", true)
	}
	s.saving = exportDialog{
		dialog: newDialog(s.env, dialogAsking), parts: []exportPart{{rows: rows}}, words: words,
		path: term.NewTextField(message.FileName(s.queue, s.env.now())),
	}
	return s, nil
}

// offer finds the actions that the message under the cursor has the fields for.
func (s *messagesScreen) offer() {
	if len(s.env.actions) == 0 {
		return
	}
	row, ok := s.table.Current()
	if !ok || row.whole() == nil {
		s.offered, s.offeredOf = nil, nil
		return
	}
	if s.offeredOf == row.whole() {
		return
	}
	s.offered, s.offeredOf = nil, row.whole()
	for i := range s.env.actions {
		if a := &s.env.actions[i]; a.Offered(s.offeredOf) {
			s.offered = append(s.offered, actionKey(a))
		}
	}
}

// custom does what an action of the configuration says, if the key is one of theirs.
func (s messagesScreen) custom(msg tea.KeyMsg) (cmd tea.Cmd, taken bool) {
	for i := range s.env.actions {
		a := &s.env.actions[i]
		if !term.Is(msg, actionKey(a)) {
			continue
		}
		row, ok := s.table.Current()
		if !ok {
			return notice("no message is under the cursor: move it onto one first", true), true
		}
		clipboard, open := s.env.toClipboard(), s.env.opener
		return s.env.command(actionTimeout, func(ctx context.Context) tea.Msg {
			m := parts(nil, row).whole
			if a.IsURL() {
				return openURL(ctx, a, m, clipboard, open)
			}
			return runCommand(ctx, a, m)
		}), true
	}
	return nil, false
}

// copyKey takes the key that says what to copy; any other key copies nothing.
func (s messagesScreen) copyKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	s.copying = false
	row, ok := s.table.Current()
	if !ok {
		return s, nil
	}
	var of func(*message.Message) (what, text string)
	k := s.env.keys
	switch {
	case term.Is(msg, k.CopyBody):
		of = bodyToCopy
	case term.Is(msg, k.CopyHeaders):
		of = headersToCopy
	case term.Is(msg, k.CopyID):
		of = func(m *message.Message) (what, text string) {
			return "the id " + m.Properties.MessageID, m.Properties.MessageID
		}
	case term.Is(msg, k.CopyJSON):
		of = func(m *message.Message) (what, text string) { return "the message as JSON", messageJSON(m) }
	default:
		return s, nil
	}
	out := s.env.toClipboard()
	return s, s.env.command(0, func(context.Context) tea.Msg {
		m := parts(nil, row).whole
		what, text := of(m)
		if text == "" && term.Is(msg, k.CopyID) {
			return noticeMsg{text: "this message has no id", bad: true}
		}
		return copyText(out, what, text)
	})
}

// compare opens two selected messages side by side.
func (s messagesScreen) compare() (screen, tea.Cmd) {
	chosen := s.table.Selection()
	if len(chosen) != 2 {
		return s, notice(fmt.Sprintf("%s selected: %s selects the two to compare",
			model.Plural(len(chosen), "message"), s.env.keys.Choose.Help().Key), true)
	}
	return s, push(newCompareScreen(s.env, s.queue, chosen[0], chosen[1]))
}

// newCauseExport asks where the messages of a cause in several queues are written to.
func newCauseExport(e *env, queues []messagesScreen, words string) exportDialog {
	d := exportDialog{dialog: newDialog(e, dialogAsking), words: words, path: term.NewTextField(".")}
	names := map[string]bool{}
	for i := range queues {
		q := &queues[i]
		if len(q.table.Shown) == 0 {
			continue
		}
		named, name := q.queue, message.FileName(q.queue, e.now())
		for n := 2; names[name]; n++ { // of another virtual host
			named.Name = fmt.Sprintf("%s-%d", q.queue.Name, n)
			name = message.FileName(named, e.now())
		}
		names[name] = true
		d.parts = append(d.parts, exportPart{name, q.table.Shown})
	}
	return d
}
