package term

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// ListKeys are the keys of every list: moving in it, filtering, sorting and choosing.
type ListKeys struct {
	Up, Down, Top, Bottom, HalfUp, HalfDown, PageUp, PageDown key.Binding

	Filter, NextMatch, PrevMatch, Sort, Reverse, Choose, Range, ChooseAll key.Binding
	About                                                                 key.Binding // with --plain

	// While the filter is typed.
	Accept, Abandon key.Binding
}

func NewListKeys() *ListKeys {
	return &ListKeys{
		Up:        Binding("↑ k", "up", "up", "k"),
		Down:      Binding("↓ j", "down", "down", "j"),
		Top:       Binding("g", "first", "g", "home"),
		Bottom:    Binding("G", "last", "G", "end"),
		HalfUp:    Binding("ctrl-u", "half page up", "ctrl+u"),
		HalfDown:  Binding("ctrl-d", "half page down", "ctrl+d"),
		PageUp:    Binding("pgup", "page up", "pgup", "ctrl+b"),
		PageDown:  Binding("pgdn", "page down", "pgdown", "ctrl+f"),
		Filter:    Binding("/", "filter", "/"),
		NextMatch: Binding("n", "next match", "n"),
		PrevMatch: Binding("N", "previous match", "N"),
		Sort:      Binding("s", "sort by next column", "s"),
		Reverse:   Binding("S", "reverse the order", "S"),
		Choose:    Binding("space", "select", " "),
		Range:     Binding("v", "select a range", "v"),
		ChooseAll: Binding("*", "select all shown", "*"),
		About:     Binding("z", "more of this row, and back", "z"),
		Accept:    Binding("enter", "keep", "enter"),
		Abandon:   Binding("esc", "clear", "esc"),
	}
}

// Binding makes a binding of keys, with their name and what they do for the help.
func Binding(help, what string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
}

// Kit is what a component needs to be drawn and to be steered.
type Kit struct {
	Styles *Styles
	Keys   *ListKeys
}

// Describe is a binding with other words for the same key, for a screen where it does something particular.
func Describe(b key.Binding, what string) key.Binding {
	b.SetHelp(b.Help().Key, what)
	return b
}

// Is reports whether a key press is one of a binding's keys.
func Is(msg tea.KeyMsg, b key.Binding) bool { return key.Matches(msg, b) }

// Motions are the keys that every list understands.
func (k *ListKeys) Motions() []key.Binding {
	return []key.Binding{k.Up, k.Down, k.Top, k.Bottom, k.HalfUp, k.HalfDown, k.PageUp, k.PageDown}
}
