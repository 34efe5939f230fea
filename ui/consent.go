package ui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// consent is a number of messages that is typed where a plain enter is too easy. Keys that are no digits do meanwhile
// what they do without it.
type consent struct {
	field  term.TextField
	wrong  bool           // enter was pressed with another number
	reason term.TextField // why it is done, for the journal
	asked  bool           // for that: it is typed
}

func newConsent() consent { return consent{field: term.NewTextField("")} }

// careful reports whether this number of messages is agreed to by typing it.
func (e *env) careful(messages int) bool {
	return messages > typedAbove || messages > 1 && e.production
}

// carefully asks for the number of messages, in a sentence that says what is done to how many and where they go.
func (o *offer) carefully(e *env, messages int, does string) {
	o.number = messages
	o.prompt = "To " + does + ", type " + model.Count(int64(messages)) + ":"
	if e.production {
		o.prompt = "Production: to " + does + ", type " + model.Count(int64(messages)) + ":"
	}
}

// given reports whether the number was typed, where one is asked for.
func (c *consent) given(o *offer) bool {
	return o.number == 0 || strings.ReplaceAll(c.field.Text(), ",", "") == strconv.Itoa(o.number)
}

// explained reports whether it was said why, in production, where a journal keeps that: the first enter asks for it.
// What was said last is proposed.
func (c *consent) explained(e *env) bool {
	if !e.production || e.journal == nil {
		return true
	}
	if !c.asked {
		c.asked, c.reason = true, term.NewTextField(e.reason)
		return false
	}
	if text := strings.TrimSpace(c.reason.Text()); text != "" {
		e.reason = text
		return true
	}
	return false
}

// explains takes a key while the reason is typed, and reports whether it did: enter agrees.
func (c *consent) explains(k *keyMap, msg tea.KeyMsg) bool {
	switch {
	case !c.asked || term.Is(msg, k.Confirm):
		return false
	case term.Is(msg, k.Cancel):
		c.asked = false
	default:
		c.reason.Update(msg)
	}
	return true
}

// typed takes a key: digits, and what moves and deletes in a field.
func (c *consent) typed(msg tea.KeyMsg) {
	if strings.Trim(string(msg.Runes), "0123456789,") == "" {
		c.field.Update(msg)
		c.wrong = false
	}
}

// say asks for the number, and says when another one was typed. Then it asks for the reason.
func (c *consent) say(l *dialogLines, o *offer) {
	if c.asked {
		l.say("", "Why? The journal keeps it with your name.", l.styles.Text)
		l.field(&c.reason)
		l.blank()
		return
	}
	if o.number == 0 {
		return
	}
	l.say("", o.prompt, l.styles.Text)
	l.field(&c.field)
	want, typed := model.Count(int64(o.number)), c.field.Text()
	switch {
	case !c.wrong || c.given(o):
		l.blank()
	case typed == "":
		l.say("", term.MarkError+" Nothing was changed: first type "+want+".", l.styles.Danger)
	default:
		l.say("", term.MarkError+" Nothing was changed: you typed "+typed+", not "+want+".", l.styles.Danger)
	}
}
