package shell

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Consent is a number of messages that is typed where a plain enter is too easy. Keys that are no digits do meanwhile
// what they do without it.
type Consent struct {
	field  term.TextField
	Wrong  bool           // enter was pressed with another number
	reason term.TextField // why it is done, for the journal
	Asked  bool           // for that: it is typed
}

func NewConsent() Consent { return Consent{field: term.NewTextField("")} }

// Careful reports whether this number of messages is agreed to by typing it.
func (e *Env) Careful(messages int) bool {
	return messages > TypedAbove || messages > 1 && e.Production
}

// Carefully asks for the number of messages, in a sentence that says what is done to how many and where they go.
func (o *Offer) Carefully(e *Env, messages int, does string) {
	o.Number = messages
	o.prompt = "To " + does + ", type " + model.Count(int64(messages)) + ":"
	if e.Production {
		o.prompt = "Production: to " + does + ", type " + model.Count(int64(messages)) + ":"
	}
}

// Given reports whether the number was typed, where one is asked for.
func (c *Consent) Given(o *Offer) bool {
	return o.Number == 0 || strings.ReplaceAll(c.field.Text(), ",", "") == strconv.Itoa(o.Number)
}

// Explained reports whether it was said why, in production, where a journal keeps that: the first enter asks for it.
// What was said last is proposed.
func (c *Consent) Explained(e *Env) bool {
	if !e.Production || e.Journal == nil {
		return true
	}
	if !c.Asked {
		c.Asked, c.reason = true, term.NewTextField(e.reason)
		return false
	}
	if text := strings.TrimSpace(c.reason.Text()); text != "" {
		e.reason = text
		return true
	}
	return false
}

// Explains takes a key while the reason is typed, and reports whether it did: enter agrees.
func (c *Consent) Explains(k *KeyMap, msg tea.KeyMsg) bool {
	switch {
	case !c.Asked || term.Is(msg, k.Confirm):
		return false
	case term.Is(msg, k.Cancel):
		c.Asked = false
	default:
		c.reason.Update(msg)
	}
	return true
}

// Typed takes a key: digits, and what moves and deletes in a field.
func (c *Consent) Typed(msg tea.KeyMsg) {
	if strings.Trim(string(msg.Runes), "0123456789,") == "" {
		c.field.Update(msg)
		c.Wrong = false
	}
}

// Say asks for the number, and says when another one was typed. Then it asks for the reason.
func (c *Consent) Say(l *DialogLines, o *Offer) {
	if c.Asked {
		l.Say("", "Why? The journal keeps it with your name.", l.Styles.Text)
		l.Field(&c.reason)
		l.Blank()
		return
	}
	if o.Number == 0 {
		return
	}
	l.Say("", o.prompt, l.Styles.Text)
	l.Field(&c.field)
	want, typed := model.Count(int64(o.Number)), c.field.Text()
	switch {
	case !c.Wrong || c.Given(o):
		l.Blank()
	case typed == "":
		l.Say("", term.MarkError+" Nothing was changed: first type "+want+".", l.Styles.Danger)
	default:
		l.Say("", term.MarkError+" Nothing was changed: you typed "+typed+", not "+want+".", l.Styles.Danger)
	}
}
