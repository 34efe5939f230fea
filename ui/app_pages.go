package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/trace"
)

// answer gives an answer to the screen that asked, whichever tab that is on. One whose screen was closed concerns
// nobody.
func (a app) answer(msg shell.AnswerMsg) (app, tea.Cmd) {
	looked, isLook := msg.Msg.(messages.PeekedMsg)
	if isLook && looked.Err == nil {
		a.looks.Remember(looked.Queue, looked.Waits)
		a.looks.Dead[looked.Queue] = shell.DeadLetters{Dead: looked.Dead, Of: len(looked.Rows)}
		a.looks.Seen = a.looks.Seen.With(looked.Seen)
	}
	if marked, ok := msg.Msg.(shell.MarkedMsg); ok {
		return a, a.env.Marks.Take(marked)
	}
	var soon tea.Cmd
	if _, acted := msg.Msg.(shell.EndedMsg[plan.Account]); acted {
		soon = a.poller.soon(a.env)
	}
	for i := range a.tabs {
		t := &a.tabs[i]
		at := slices.IndexFunc(t.stack, func(p shell.Page) bool { return p.Number == msg.Page })
		if at < 0 {
			continue
		}
		var cmd tea.Cmd
		t.stack = slices.Clone(t.stack)
		t.stack[at], cmd = t.stack[at].Takes(msg.Msg)
		return a, tea.Batch(cmd, soon)
	}
	if isLook && looked.Err == nil {
		return a, messages.Closing(looked.Peeked.Messages)
	}
	return a, soon
}

// probeHere opens the probe of the flow that is shown.
func (a app) probeHere() (app, tea.Cmd) {
	if flow, ok := a.top().(flows.FlowScreen); ok {
		return a.push(trace.NewProbeScreen(a.env, flow.Worker))
	}
	a.notice = shell.NoticeMsg{Text: "open a flow first, or name one: probe FLOW", Bad: true}
	return a, nil
}

// tapHere opens the tap of the flow that is shown.
func (a app) tapHere() (app, tea.Cmd) {
	if flow, ok := a.top().(flows.FlowScreen); ok && flow.Flow != nil {
		return a, trace.TapFlow(a.env, a.latest.Topology, flow.Flow, flow.Cursor)
	}
	a.notice = shell.NoticeMsg{Text: "name an exchange: tap EXCHANGE", Bad: true}
	return a, nil
}

// undo opens the undo of the last action.
func (a app) undo() (app, tea.Cmd) {
	if a.env.Journal == nil {
		a.notice = shell.NoticeMsg{Text: "there is no journal to undo from: dlxtop was started with --no-journal", Bad: true}
		return a, nil
	}
	if f, open := a.top().(act.FollowUpScreen); open {
		if _, resumes := f.Is.(act.Resuming); !resumes {
			return a, nil
		}
	}
	if len(a.env.Together) > 1 {
		return a.push(act.NewUndoScreen(a.env, a.env.Together...))
	}
	return a.push(act.NewUndoScreen(a.env, 0))
}
