package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// mendState is how far the editing of many messages is.
type mendState int

const (
	mendIdle   mendState = iota
	mendTyping           // the program is typed
	mendTrying           // it is tried on the messages
	mendShown            // what it makes of them is shown
)

// mendPrompt asks for a jq program that changes messages, and shows what it makes of them. Who embeds it tries the
// program, and has the dialog of the replay follow.
type mendPrompt struct {
	env      *env
	state    mendState
	field    term.TextField
	back     int    // which earlier program is in the field; as many as there are: none
	draft    string // what was typed before the first ↑
	wrong    string // why it cannot be read; "" when it can be
	messages int    // how many it is tried on
	words    string // how they were chosen
	mended   *plan.Mended
	refusal  string // why none of them can be replayed; "" when some can
	top      int    // of the differences, the first line that is seen
	drawn    *mendedLines
}

// mendedLines is what was laid last of the differences.
type mendedLines struct {
	width, room int
	lines       []string // nil: to be laid
}

// mendPress is what a key means to who embeds a prompt.
type mendPress int

const (
	mendElse  mendPress = iota
	mendBack            // it was left
	mendTry             // a program is to be tried
	mendAgree           // what it makes of the messages is agreed to
)

func newMendPrompt(e *env, messages int, words string) mendPrompt {
	return mendPrompt{
		env: e, state: mendTyping, field: term.NewTextField(""), back: len(e.programs), messages: messages,
		words: words, drawn: &mendedLines{},
	}
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
		if p.refusal == "" {
			keys = append([]key.Binding{term.Describe(k.Confirm, "to the replay")}, keys...)
		}
		return append(keys, k.Cancel)
	}
	return []key.Binding{k.Cancel}
}

// press takes a key.
func (p *mendPrompt) press(msg tea.KeyMsg) mendPress {
	k := p.env.keys
	switch {
	case term.Is(msg, k.Cancel):
		p.state = mendIdle
		return mendBack
	case p.state == mendTyping && term.Is(msg, k.Confirm):
		return mendTry
	case p.state == mendTyping:
		p.typed(msg)
	case p.state == mendShown && term.Is(msg, k.Confirm):
		if p.refusal == "" {
			p.state = mendIdle
			return mendAgree
		}
	case p.state == mendShown && term.Is(msg, k.Mend):
		p.state = mendTyping
	case p.state == mendShown:
		p.scroll(msg)
	}
	return mendElse
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

// try takes the program that was typed, which is tried from then on. It is nil when it cannot be read.
func (p *mendPrompt) try() (*mend.Program, tea.Cmd) {
	text := p.field.Text()
	program, err := mend.Parse(text)
	if err != nil {
		p.wrong = err.Error()
		return nil, nil
	}
	p.env.programs = remembered(p.env.programs, text)
	p.back, p.state = len(p.env.programs), mendTrying
	return program, p.env.keep(func(c *keptChoices) { c.Programs = remembered(c.Programs, text) })
}

// show shows what the program makes of the messages.
func (p *mendPrompt) show(mended *plan.Mended, refusal string) {
	p.state, p.mended, p.refusal, p.top, p.drawn = mendShown, mended, refusal, 0, &mendedLines{}
}
