package ui

import (
	tea "github.com/charmbracelet/bubbletea"
)

// page is a screen on a stack. What the screen's commands bring carries the page's number: it concerns no other screen.
type page struct {
	screen
	number request
}

func (e *env) newPage(s screen) page { return page{s, e.newRequest()} }

// answerMsg brings the answer to a screen's command to that screen.
type answerMsg struct {
	page request
	msg  tea.Msg
}

// lendMsg asks the root to give the terminal to a program. over makes the answer of its end.
type lendMsg struct {
	program tea.ExecCommand
	over    func(error) tea.Msg
}

// takes gives a message to the screen. Answers to what it asks for then come back to it alone.
func (p page) takes(msg tea.Msg) (page, tea.Cmd) {
	next, cmd := p.screen.Update(msg)
	p.screen = next
	return p, p.asked(cmd)
}

// asked makes what a command of the screen brings an answer to it, unless it is for the root.
func (p page) asked(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch msg := cmd().(type) {
		case nil, pushMsg, noticeMsg, hideMsg:
			return msg
		case popMsg:
			return popMsg{p.number}
		case lendMsg:
			over := msg.over
			msg.over = func(err error) tea.Msg { return answerMsg{p.number, over(err)} }
			return msg
		case tea.BatchMsg:
			all := make(tea.BatchMsg, len(msg))
			for i := range msg {
				all[i] = p.asked(msg[i])
			}
			return all
		default:
			return answerMsg{p.number, msg}
		}
	}
}
