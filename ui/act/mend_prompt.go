package act

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// mendState is how far the editing of many messages is.
type mendState int

const (
	mendIdle   mendState = iota
	MendTyping           // the program is typed
	MendTrying           // it is tried on the messages
	mendShown            // what it makes of them is shown
)

// MendPrompt asks for a jq program that changes messages, and shows what it makes of them. Who embeds it tries the
// program, and has the dialog of the replay follow.
type MendPrompt struct {
	env      *shell.Env
	State    mendState
	field    term.TextField
	back     int    // which earlier program is in the field; as many as there are: none
	draft    string // what was typed before the first ↑
	wrong    string // why it cannot be read; "" when it can be
	Messages int    // how many it is tried on
	Words    string // how they were chosen
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
	MendBack            // it was left
	MendTry             // a program is to be tried
	MendAgree           // what it makes of the messages is agreed to
)

func NewMendPrompt(e *shell.Env, messages int, words string) MendPrompt {
	return MendPrompt{
		env: e, State: MendTyping, field: term.NewTextField(""), back: len(e.Programs), Messages: messages,
		Words: words, drawn: &mendedLines{},
	}
}

func (p *MendPrompt) Open() bool { return p.State != mendIdle }

func (p *MendPrompt) Keys() []key.Binding {
	k := p.env.Keys
	switch p.State {
	case MendTyping:
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

// Press takes a key.
func (p *MendPrompt) Press(msg tea.KeyMsg) mendPress {
	k := p.env.Keys
	switch {
	case term.Is(msg, k.Cancel):
		p.State = mendIdle
		return MendBack
	case p.State == MendTyping && term.Is(msg, k.Confirm):
		return MendTry
	case p.State == MendTyping:
		p.typed(msg)
	case p.State == mendShown && term.Is(msg, k.Confirm):
		if p.refusal == "" {
			p.State = mendIdle
			return MendAgree
		}
	case p.State == mendShown && term.Is(msg, k.Mend):
		p.State = MendTyping
	case p.State == mendShown:
		p.scroll(msg)
	}
	return mendElse
}

// typed takes a key of the field. A program is read while it is typed, so that what is wrong with it is seen.
func (p *MendPrompt) typed(msg tea.KeyMsg) {
	k := p.env.Keys
	switch {
	case term.Is(msg, k.ChooseUp):
		p.recall(p.back - 1)
	case term.Is(msg, k.ChooseDown):
		p.recall(p.back + 1)
	default:
		before := p.field.Text()
		if p.field.Update(msg); p.field.Text() != before {
			p.back = len(p.env.Programs)
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
func (p *MendPrompt) recall(to int) {
	past := p.env.Programs
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

// Try takes the program that was typed, which is tried from then on. It is nil when it cannot be read.
func (p *MendPrompt) Try() (*mend.Program, tea.Cmd) {
	text := p.field.Text()
	program, err := mend.Parse(text)
	if err != nil {
		p.wrong = err.Error()
		return nil, nil
	}
	p.env.Programs = shell.Remembered(p.env.Programs, text)
	p.back, p.State = len(p.env.Programs), MendTrying
	return program, p.env.Keep(func(c *shell.KeptChoices) { c.Programs = shell.Remembered(c.Programs, text) })
}

// Show shows what the program makes of the messages.
func (p *MendPrompt) Show(mended *plan.Mended, refusal string) {
	p.State, p.mended, p.refusal, p.top, p.drawn = mendShown, mended, refusal, 0, &mendedLines{}
}
