package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model/mend"
	"dlxtop/model/plan"
	"dlxtop/ui/term"
)

// mendState is how far the editing of many messages is.
type mendState int

const (
	mendIdle   mendState = iota
	mendTyping           // the program is typed
	mendTrying           // it is tried on the messages
	mendShown            // what it makes of them is shown
)

// mendPrompt asks for a jq program that changes messages, and shows what it makes of them before the dialog of their
// replay follows.
type mendPrompt struct {
	env    *env
	state  mendState
	field  term.TextField
	back   int    // which earlier program is in the field; as many as there are: none
	draft  string // what was typed before the first ↑
	wrong  string // why it cannot be read; "" when it can be
	rows   []*messageRow
	words  string // how they were chosen
	dialog planDialog
	top    int // of the differences, the first line that is seen
	drawn  *mendedLines
}

// mendedLines is what was laid last of the differences.
type mendedLines struct {
	width, room int
	lines       []string // nil: to be laid
}

// mendMany asks for the program that changes the selection, else all that are shown.
func (s messagesScreen) mendMany() (screen, tea.Cmd) {
	rows, words := s.table.Selection(), "the selection"
	if len(rows) == 0 {
		rows, words = s.allShown()
	}
	switch {
	case s.env.readOnly:
		return s, notice(readOnlyWords, true)
	case s.filter.pending():
		return s, notice("the filter is still being applied: try again in a moment", true)
	case s.filter.err != nil:
		return s, notice("the filter is not complete: finish it, or clear it with esc", true)
	case s.peek != 0:
		return s, notice("the queue is being read again: try again in a moment", true)
	case s.topology == nil || len(rows) == 0:
		return s, notice("there is nothing to edit", true)
	}
	s.mending = mendPrompt{
		env: s.env, state: mendTyping, field: term.NewTextField(""), back: len(s.env.programs), rows: rows, words: words,
		drawn: &mendedLines{},
	}
	return s, nil
}

func (p *mendPrompt) open() bool { return p.state != mendIdle }

func (p *mendPrompt) keys() []key.Binding {
	k := p.env.keys
	switch p.state {
	case mendTyping:
		return []key.Binding{
			term.Describe(k.Confirm, "try it"), term.Describe(k.ChooseUp, "earlier programs"), k.Cancel,
		}
	case mendShown:
		keys := []key.Binding{term.Describe(k.Mend, "edit the program"), k.Up, k.Down, k.PageUp, k.PageDown}
		if !p.dialog.plan.Refusal.Refused() {
			keys = append([]key.Binding{term.Describe(k.Confirm, "to the replay")}, keys...)
		}
		return append(keys, k.Cancel)
	}
	return []key.Binding{k.Cancel}
}

// updateMend gives a message to the prompt.
func (s messagesScreen) updateMend(msg tea.Msg) (screen, tea.Cmd) {
	p := &s.mending
	switch msg := msg.(type) {
	case plannedMsg[acting]:
		if p.state == mendTrying && msg.request == p.dialog.request {
			p.dialog, _ = p.dialog.planned(msg)
			p.state, p.top, p.drawn = mendShown, 0, &mendedLines{}
		}
	case tea.KeyMsg:
		return s.mendKey(msg)
	}
	return s, nil
}

// mendKey takes a key while the prompt is open.
func (s messagesScreen) mendKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	p, k := &s.mending, s.env.keys
	switch {
	case term.Is(msg, k.Cancel):
		p.state, s.walk = mendIdle, nil
	case p.state == mendTyping && term.Is(msg, k.Confirm):
		return s.tryMend()
	case p.state == mendTyping:
		p.typed(msg)
	case p.state == mendShown && term.Is(msg, k.Confirm):
		if !p.dialog.plan.Refusal.Refused() {
			s.dialog, p.state = p.dialog, mendIdle
		}
	case p.state == mendShown && term.Is(msg, k.Mend):
		p.state = mendTyping
	case p.state == mendShown:
		p.scroll(msg)
	}
	return s, nil
}

// typed takes a key of the field. A program is read while it is typed, so that what is wrong with it is seen.
func (p *mendPrompt) typed(msg tea.KeyMsg) {
	k := p.env.keys
	switch {
	case term.Is(msg, k.ChooseUp):
		p.recall(p.back - 1)
	case term.Is(msg, k.ChooseDown):
		p.recall(p.back + 1)
	default:
		before := p.field.Text()
		if p.field.Update(msg); p.field.Text() != before {
			p.back = len(p.env.programs)
		}
	}
	p.wrong = ""
	if p.field.Text() != "" {
		if _, err := mend.Parse(p.field.Text()); err != nil {
			p.wrong = err.Error()
		}
	}
}

// recall writes an earlier program into the field, and behind the newest what was typed.
func (p *mendPrompt) recall(to int) {
	past := p.env.programs
	if to < 0 || to > len(past) {
		return
	}
	if p.back == len(past) {
		p.draft = p.field.Text()
	}
	text := p.draft
	if p.back = to; to < len(past) {
		text = past[to]
	}
	p.field.Set(text)
}

// tryMend plans the replay of what the program makes of the messages.
func (s messagesScreen) tryMend() (screen, tea.Cmd) {
	p := &s.mending
	text := p.field.Text()
	program, err := mend.Parse(text)
	if err != nil {
		p.wrong = err.Error()
		return s, nil
	}
	s.env.programs = remembered(s.env.programs, text)
	p.back = len(s.env.programs)
	keep := s.env.keep(func(c *keptChoices) { c.Programs = remembered(c.Programs, text) })
	p.dialog, _ = newPlanDialog(s.env, s.topology, plan.Replay, s.queue, p.rows, p.words, s.others())
	p.dialog.mend, p.dialog.next, p.state = program, s.walk.words(s.queue), mendTrying
	cmd := p.dialog.work()
	return s, tea.Batch(keep, cmd)
}

// mendsAgain reports whether a key goes back to the program.
func (d *planDialog) mendsAgain(msg tea.KeyMsg) bool {
	if d.state != dialogAsking || d.mend == nil || !term.Is(msg, d.env.keys.Mend) {
		return false
	}
	o := d.offer()
	return o.prompt == "" || d.named(o) // else it is a letter of the queue's name
}
