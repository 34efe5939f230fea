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
	field term.TextField
	wrong bool // enter was pressed with another number
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

// typed takes a key: digits, and what moves and deletes in a field.
func (c *consent) typed(msg tea.KeyMsg) {
	if strings.Trim(string(msg.Runes), "0123456789,") == "" {
		c.field.Update(msg)
		c.wrong = false
	}
}

// say asks for the number, and says when another one was typed.
func (c *consent) say(l *dialogLines, o *offer) {
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
