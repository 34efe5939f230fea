package messages

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// OfCause is the one cause whose messages are shown; zero: all are.
type OfCause struct {
	*cause.Group        // nil: all
	Words        string // printable
}

// Has reports whether a message in a queue failed for it.
func (c OfCause) Has(in model.QueueRef, m *message.Message) bool {
	return c.Group == nil || cause.Is(in, m, c.ID)
}

// match is what the table of messages narrows by: the cause, and within it the filter. nil shows all.
func (s Screen) match() func(*shell.MessageRow) bool {
	filter := s.filter.match()
	if s.only.Group == nil {
		return filter
	}
	return func(r *shell.MessageRow) bool { return !r.Other && (filter == nil || filter(r)) }
}

// remaining says what came into the queue since it was read, or that an action has left no message of the cause in it;
// "" when neither is known.
func (s Screen) remaining() string {
	if arrived := plan.ArrivedWords(s.Dialog.Others.Arrived); arrived != "" {
		return "; " + arrived + ": " + s.env.Keys.Peek.Help().Key + " reads the queue again"
	}
	if s.only.Group == nil || len(s.Table.Shown) > 0 || s.filter.field.Text() != "" || s.unclear != "" {
		return ""
	}
	words := "; none of this cause is left here"
	if s.env.Marks.States.Of(s.only.ID).State == cause.Resolved {
		return words // the key would take that back
	}
	return words + ": " + s.env.Keys.Resolve.Help().Key + " marks it as resolved"
}

// afterLook is done once the messages were read.
type afterLook func(Screen) (shell.Screen, tea.Cmd)

// CauseKeys are the keys that act on all messages of a cause.
func CauseKeys(k *shell.KeyMap) []key.Binding {
	return []key.Binding{k.Replay, k.Drop, k.Move, k.Mend, k.Export}
}

// CauseAction is what a key does with all messages of a cause; nil: nothing.
func CauseAction(k *shell.KeyMap, msg tea.KeyMsg) afterLook {
	unlessGone := func(then afterLook) afterLook {
		return func(s Screen) (shell.Screen, tea.Cmd) {
			if len(s.Table.Shown) > 0 {
				return then(s)
			}
			return s, shell.Notice("no message of this cause is in the queue any more", true)
		}
	}
	act := func(operation plan.Operation) afterLook {
		return unlessGone(func(s Screen) (shell.Screen, tea.Cmd) { return s.act(operation, s.AllShown) })
	}
	switch {
	case term.Is(msg, k.Replay), term.Is(msg, k.ReplayAll):
		return act(plan.Replay)
	case term.Is(msg, k.Drop), term.Is(msg, k.DropAll):
		return act(plan.Drop)
	case term.Is(msg, k.Move):
		return act(plan.Move)
	case term.Is(msg, k.Mend):
		return unlessGone(Screen.mendMany)
	case term.Is(msg, k.Export):
		return Screen.export
	}
	return nil
}

// RowAction is what a key does with the message under the cursor; nil: nothing.
func RowAction(k *shell.KeyMap, msg tea.KeyMsg) afterLook {
	var operation plan.Operation
	switch {
	case term.Is(msg, k.Replay):
		operation = plan.Replay
	case term.Is(msg, k.Drop):
		operation = plan.Drop
	case term.Is(msg, k.Move):
		operation = plan.Move
	default:
		return nil
	}
	return func(s Screen) (shell.Screen, tea.Cmd) { return s.act(operation, s.aimed) }
}
