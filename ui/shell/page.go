package shell

import (
	tea "github.com/charmbracelet/bubbletea"
)

// Page is a screen on a stack. What the screen's commands bring carries the page's number: it concerns no other screen.
type Page struct {
	Screen
	Number Request
}

func (e *Env) NewPage(s Screen) Page { return Page{s, e.NewRequest()} }

// AnswerMsg brings the answer to a screen's command to that screen.
type AnswerMsg struct {
	Page Request
	Msg  tea.Msg
}

// LendMsg asks the root to give the terminal to a program. over makes the answer of its end.
type LendMsg struct {
	Program tea.ExecCommand
	Over    func(error) tea.Msg
}

// Takes gives a message to the screen. Answers to what it asks for then come back to it alone.
func (p Page) Takes(msg tea.Msg) (Page, tea.Cmd) {
	next, cmd := p.Screen.Update(msg)
	p.Screen = next
	return p, p.Asked(cmd)
}

// Asked makes what a command of the screen brings an answer to it, unless it is for the root.
func (p Page) Asked(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch msg := cmd().(type) {
		case nil, PushMsg, NoticeMsg, HideMsg, FollowMsg:
			return msg
		case PopMsg:
			return PopMsg{p.Number}
		case LendMsg:
			over := msg.Over
			msg.Over = func(err error) tea.Msg { return AnswerMsg{p.Number, over(err)} }
			return msg
		case tea.BatchMsg:
			all := make(tea.BatchMsg, len(msg))
			for i := range msg {
				all[i] = p.Asked(msg[i])
			}
			return all
		default:
			return AnswerMsg{p.Number, msg}
		}
	}
}
