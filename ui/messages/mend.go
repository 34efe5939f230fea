package messages

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// queueMend is the editing of many messages of one queue, and the dialog of their replay that follows.
type queueMend struct {
	act.MendPrompt
	rows   []*shell.MessageRow
	dialog act.PlanDialog
}

// mendMany asks for the program that changes the selection, else all that are shown.
func (s Screen) mendMany() (shell.Screen, tea.Cmd) {
	rows, words := s.selected()
	switch why := s.unready(); {
	case s.env.ReadOnly:
		return s, shell.Notice(shell.ReadOnlyWords, true)
	case why != "":
		return s, shell.Notice(why, true)
	case s.Topology == nil || len(rows) == 0:
		return s, shell.Notice("there is nothing to edit", true)
	}
	s.mending = queueMend{MendPrompt: act.NewMendPrompt(s.env, len(rows), words), rows: rows}
	return s, nil
}

// updateMend gives a message to the prompt.
func (s Screen) updateMend(msg tea.Msg) (shell.Screen, tea.Cmd) {
	m := &s.mending
	if msg, ok := msg.(shell.PlannedMsg[act.Acting]); ok && m.State == act.MendTrying && msg.Request == m.dialog.Request {
		m.dialog, _ = m.dialog.Planned(msg)
		m.Show(m.dialog.Plan.Mended, m.dialog.Plan.Refusal.Words())
	}
	return s, nil
}

// mendKey takes a key while the prompt is open.
func (s Screen) mendKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	m := &s.mending
	switch m.Press(msg) {
	case act.MendBack:
		m.dialog.Close()
	case act.MendTry:
		program, keep := m.Try()
		if program == nil {
			return s, nil
		}
		m.dialog, _ = act.NewPlanDialog(s.env, s.Topology, plan.Replay, s.Queue, m.rows, m.Words, s.Others())
		m.dialog.Mend = program
		cmd := m.dialog.Work()
		return s, tea.Batch(keep, cmd)
	case act.MendAgree:
		s.Dialog = m.dialog
	}
	return s, nil
}
