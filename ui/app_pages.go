package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlxtop/dlxtop/model/plan"
)

// answer gives an answer to the screen that asked, whichever tab that is on. One whose screen was closed concerns
// nobody.
func (a app) answer(msg answerMsg) (tea.Model, tea.Cmd) {
	looked, isLook := msg.msg.(peekedMsg)
	if isLook && looked.err == nil {
		a.looks.remember(looked.queue, looked.waits)
		a.looks.dead[looked.queue] = deadLetters{looked.dead, len(looked.rows)}
		a.looks.seen = a.looks.seen.With(looked.seen)
	}
	if marked, ok := msg.msg.(markedMsg); ok {
		return a, a.env.marks.take(marked)
	}
	var soon tea.Cmd
	if _, acted := msg.msg.(endedMsg[plan.Account]); acted {
		soon = a.poller.soon(a.env)
	}
	for i := range a.tabs {
		t := &a.tabs[i]
		at := slices.IndexFunc(t.stack, func(p page) bool { return p.number == msg.page })
		if at < 0 {
			continue
		}
		var cmd tea.Cmd
		t.stack = slices.Clone(t.stack)
		t.stack[at], cmd = t.stack[at].takes(msg.msg)
		return a, tea.Batch(cmd, soon)
	}
	if isLook && looked.err == nil {
		return a, closing(looked.peeked.Messages)
	}
	return a, soon
}

// probeHere opens the probe of the flow that is shown.
func (a app) probeHere() (tea.Model, tea.Cmd) {
	if flow, ok := a.top().(flowScreen); ok {
		return a.push(newProbeScreen(a.env, flow.worker))
	}
	a.notice = noticeMsg{text: "open a flow first, or name one: probe FLOW", bad: true}
	return a, nil
}

// tapHere opens the tap of the flow that is shown.
func (a app) tapHere() (tea.Model, tea.Cmd) {
	if flow, ok := a.top().(flowScreen); ok && flow.flow != nil {
		return a, tapFlow(a.env, a.latest.topology, flow.flow, flow.cursor)
	}
	a.notice = noticeMsg{text: "name an exchange: tap EXCHANGE", bad: true}
	return a, nil
}

// undo opens the undo of the last action.
func (a app) undo() (tea.Model, tea.Cmd) {
	if a.env.journal == nil {
		a.notice = noticeMsg{text: "there is no journal to undo from: dlxtop was started with --no-journal", bad: true}
		return a, nil
	}
	if f, open := a.top().(followUpScreen); open {
		if _, resumes := f.is.(resuming); !resumes {
			return a, nil
		}
	}
	if len(a.env.together) > 1 {
		return a.push(newUndoScreen(a.env, a.env.together...))
	}
	return a.push(newUndoScreen(a.env, 0))
}
