package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
)

// queueMend is the editing of many messages of one queue, and the dialog of their replay that follows.
type queueMend struct {
	mendPrompt
	rows   []*messageRow
	dialog planDialog
}

// mendMany asks for the program that changes the selection, else all that are shown.
func (s messagesScreen) mendMany() (screen, tea.Cmd) {
	rows, words := s.selected()
	switch why := s.unready(); {
	case s.env.readOnly:
		return s, notice(readOnlyWords, true)
	case why != "":
		return s, notice(why, true)
	case s.topology == nil || len(rows) == 0:
		return s, notice("there is nothing to edit", true)
	}
	s.mending = queueMend{mendPrompt: newMendPrompt(s.env, len(rows), words), rows: rows}
	return s, nil
}

// updateMend gives a message to the prompt.
func (s messagesScreen) updateMend(msg tea.Msg) (screen, tea.Cmd) {
	m := &s.mending
	if msg, ok := msg.(plannedMsg[acting]); ok && m.state == mendTrying && msg.request == m.dialog.request {
		m.dialog, _ = m.dialog.planned(msg)
		m.show(m.dialog.plan.Mended, m.dialog.plan.Refusal.Words())
	}
	return s, nil
}

// mendKey takes a key while the prompt is open.
func (s messagesScreen) mendKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	m := &s.mending
	switch m.press(msg) {
	case mendBack:
		m.dialog.Close()
	case mendTry:
		program, keep := m.try()
		if program == nil {
			return s, nil
		}
		m.dialog, _ = newPlanDialog(s.env, s.topology, plan.Replay, s.queue, m.rows, m.words, s.others())
		m.dialog.mend = program
		cmd := m.dialog.work()
		return s, tea.Batch(keep, cmd)
	case mendAgree:
		s.dialog = m.dialog
	}
	return s, nil
}
