package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// textField is one line of text being typed. It has no look of its own: view dresses it.
type textField struct{ input textinput.Model }

func newTextField(text string) textField {
	input := textinput.New()
	input.Prompt = ""
	input.Cursor.SetMode(cursor.CursorStatic) // a blinking cursor would redraw the screen for nothing
	input.SetValue(text)
	input.CursorEnd()
	input.Focus()
	return textField{input}
}

func (f textField) text() string { return f.input.Value() }

func (f *textField) set(text string) {
	f.input.SetValue(text)
	f.input.CursorEnd()
}

func (f *textField) update(msg tea.Msg) { f.input, _ = f.input.Update(msg) }

// view draws the text with its cursor in width cells, the part around the cursor when all does not fit.
func (f textField) view(s *Styles, width int) string {
	runes := []rune(f.input.Value())
	at := min(f.input.Position(), len(runes))
	before, under, after := string(runes[:at]), " ", ""
	if at < len(runes) {
		under, after = string(runes[at]), string(runes[at+1:])
	}
	if w, room := ansi.StringWidth(before), width-ansi.StringWidth(under); w > room {
		before = "…" + ansi.TruncateLeft(before, w-room+1, "")
	}
	return ansi.Truncate(before+s.Cursor.Render(under)+after, width, "")
}

// filterField is the filter of a list: "/" opens it, typing narrows the list at once, enter keeps it, esc clears it.
type filterField struct {
	field  textField
	typing bool
	keys   *keyMap
}

func newFilterField(e *env) filterField { return filterField{field: newTextField(""), keys: e.keys} }

// text is the filter as it applies now, while it is being typed too.
func (f filterField) text() string { return f.field.text() }

// visible reports whether the filter takes a line of the screen.
func (f filterField) visible() bool { return f.typing || f.text() != "" }

func (f *filterField) open() { f.typing = true }

func (f *filterField) clear() {
	f.field.set("")
	f.typing = false
}

// handle takes a key while the filter is being typed.
func (f *filterField) handle(msg tea.KeyMsg) {
	switch {
	case is(msg, f.keys.Accept):
		f.typing = false
	case is(msg, f.keys.Abandon):
		f.clear()
	default:
		f.field.update(msg)
	}
}

// view is the filter's line, with what it found at the right end.
func (f filterField) view(s *Styles, width int, found string) string {
	left := s.Accent.Render(" / ")
	if f.typing {
		left += f.field.view(s, max(1, width-6-ansi.StringWidth(found)))
	} else {
		left += s.Strong.Render(f.text()) + s.Muted.Render("   esc clears")
	}
	return spread(left, s.Muted.Render(found+" "), width)
}

// containsFold reports whether any of the texts contains the filter, whatever the case; needle is in lower case.
func containsFold(needle string, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), needle) {
			return true
		}
	}
	return false
}
