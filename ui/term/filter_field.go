package term

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/press"
)

// TextField is one line of text being typed. It has no style of its own: View adds it.
type TextField struct{ input textinput.Model }

func NewTextField(text string) TextField {
	input := textinput.New()
	input.Prompt = ""
	input.Cursor.SetMode(cursor.CursorStatic) // a blinking cursor would redraw the screen for nothing
	input.SetValue(text)
	input.CursorEnd()
	input.Focus()
	return TextField{input}
}

func (f *TextField) Text() string { return f.input.Value() }

func (f *TextField) Set(text string) { f.SetAround(text, "") }

// Around splits the text at the cursor.
func (f *TextField) Around() (before, behind string) {
	runes := []rune(f.input.Value())
	at := min(f.input.Position(), len(runes))
	return string(runes[:at]), string(runes[at:])
}

// SetAround sets the text, with the cursor in between.
func (f *TextField) SetAround(before, behind string) {
	f.input.SetValue(before + behind)
	f.input.SetCursor(len([]rune(before)))
}

// Update handles typing. The input modifies a key's runes in place, and those of space are shared by all programs in a
// process. It reports whether the text has changed.
func (f *TextField) Update(msg tea.Msg) (changed bool) {
	before := f.Text()
	if key, ok := msg.(tea.KeyMsg); ok {
		key.Runes = slices.Clone(key.Runes)
		msg = key
	}
	f.input, _ = f.input.Update(msg)
	return f.Text() != before
}

// View draws the text with its cursor in width cells: the part around the cursor if it does not fit.
func (f *TextField) View(width int) string {
	before, behind := f.Around()
	before = model.Escaped(before)
	under, after := " ", ""
	if r, size := utf8.DecodeRuneInString(behind); size > 0 {
		under, after = model.Escaped(string(r)), model.Escaped(behind[size:])
	}
	if w, room := ansi.StringWidthWc(before), width-ansi.StringWidthWc(under); w > room {
		before = "…" + Behind(before, w-room+1)
	}

	return Crop(before+Cursor.Render(under)+after, width)
}

// FilterField filters a list: "/" opens it, typing narrows the list at once, enter keeps it, esc clears it.
type FilterField struct {
	Field  TextField
	Typing bool
}

func NewFilterField() FilterField { return FilterField{Field: NewTextField("")} }

// Text returns the filter, also while it is typed.
func (f *FilterField) Text() string { return f.Field.Text() }

// Visible reports whether the filter takes up a line of the screen.
func (f *FilterField) Visible() bool { return f.Typing || f.Text() != "" }

func (f *FilterField) Open() { f.Typing = true }

func (f *FilterField) Clear() {
	f.Field.Set("")
	f.Typing = false
}

// TypingKeys returns its keys while it is typed.
func (f *FilterField) TypingKeys() []Key {
	return []Key{
		On(press.Accept, "keep the filter", func() { f.Typing = false }),
		On(press.Abandon, "clear and close the filter", f.Clear),
	}
}

// Handle handles a key while the filter is typed.
func (f *FilterField) Handle(msg tea.KeyMsg) {
	if _, pressed := Press(f.TypingKeys(), msg); !pressed {
		f.Field.Update(msg)
	}
}

// View draws the filter's line, with the result at the right end.
func (f *FilterField) View(width int, found string) string {
	left := Accent.Render(" / ")
	if f.Typing {
		left += f.Field.View(max(1, width-6-ansi.StringWidthWc(found)))
	} else {
		left += Strong.Render(model.Escaped(f.Text())) + Muted.Render("   n next  N previous  esc clears")
	}

	return Spread(left, Muted.Render(found+" "), width)
}

// ContainsFold reports whether any of the texts contains the filter, ignoring case; needle is in lower case.
func ContainsFold(needle string, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), needle) {
			return true
		}
	}

	return false
}
