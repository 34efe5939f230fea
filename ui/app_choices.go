package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
)

// chosen takes the choices of earlier starts. Commands of this one are newer.
func (a app) chosen(c shell.KeptChoices) (app, tea.Cmd) {
	past := c.Commands
	for _, command := range a.palette.past {
		past = shell.Remembered(past, command)
	}
	a.palette.past, a.palette.back = past, len(past)
	programs := c.Programs
	for _, program := range a.env.Programs {
		programs = shell.Remembered(programs, program)
	}
	a.env.Programs = programs
	var cmds []tea.Cmd
	for name, titles := range c.Hidden {
		cmds = append(cmds, a.hide(shell.HideMsg{Screen: name, Titles: titles}))
	}
	return a, tea.Batch(cmds...)
}

// hide sends a choice of columns to whichever screen has them.
func (a *app) hide(msg shell.HideMsg) tea.Cmd {
	var cmds []tea.Cmd
	for i := range a.tabs {
		cmds = append(cmds, a.tabs[i].send(msg))
	}
	return tea.Batch(cmds...)
}

// unkept says once that choices are lost with the program.
func (a app) unkept(err error) app {
	if !a.saidUnkept {
		a.saidUnkept = true
		a.notice = shell.NoticeMsg{Text: "columns and commands are not kept for the next start: " + err.Error(), Bad: true}
	}
	return a
}

// columns opens the choice of columns of the screen that is seen.
func (a app) columns() (app, tea.Cmd) {
	var titles, hidden []string
	list, ok := a.top().(shell.Columned)
	if ok {
		titles, hidden = list.Columns()
	}
	if titles == nil {
		a.notice = shell.NoticeMsg{Text: "columns are chosen on 1 flows, 2 queues and 3 failed", Bad: true}
		return a, nil
	}
	return a.push(shell.ColumnsScreen{Env: a.env, List: list, Titles: titles, Hidden: hidden})
}
