package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// keyMap holds every key of the program. It is the one place where keys have names: handlers match against these bindings, and
// the footer and the help are written from them.
type keyMap struct {
	// Moving in a list.
	Up, Down, Top, Bottom, HalfUp, HalfDown, PageUp, PageDown key.Binding

	// On a list.
	Open, Filter, Sort, Reverse, Choose, Range, ChooseAll key.Binding

	// In a text field.
	Accept, Complete, Abandon key.Binding

	// On messages.
	Replay, ReplayAll, Drop, DropAll, Copy, Failed, NextPane, PrevPane, Peek key.Binding
	More, Insist, Earlier, Later, Tap                                        key.Binding
	Move, Edit, Export                                                       key.Binding

	// What to copy of a message.
	CopyBody, CopyHeaders, CopyID, CopyJSON key.Binding

	// On a flow.
	Chart key.Binding

	// In a dialog.
	Confirm, Target, Cancel, ChooseUp, ChooseDown, Canary, GoOn key.Binding

	// Everywhere.
	Screens                     [5]key.Binding
	NextScreen, PrevScreen      key.Binding
	Back, Quit, ForceQuit, Help key.Binding
	Palette, Pause, ReadNow     key.Binding
	Undo                        key.Binding
}

func newKeyMap() *keyMap {
	bind := func(help, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
	}
	return &keyMap{
		Up:       bind("↑ k", "up", "up", "k"),
		Down:     bind("↓ j", "down", "down", "j"),
		Top:      bind("g", "first", "g", "home"),
		Bottom:   bind("G", "last", "G", "end"),
		HalfUp:   bind("ctrl-u", "half page up", "ctrl+u"),
		HalfDown: bind("ctrl-d", "half page down", "ctrl+d"),
		PageUp:   bind("pgup", "page up", "pgup", "ctrl+b"),
		PageDown: bind("pgdn", "page down", "pgdown", "ctrl+f"),

		Open:      bind("enter", "open", "enter"),
		Filter:    bind("/", "filter", "/"),
		Sort:      bind("s", "sort by next column", "s"),
		Reverse:   bind("S", "reverse the order", "S"),
		Choose:    bind("space", "select", " "),
		Range:     bind("v", "select a range", "v"),
		ChooseAll: bind("*", "select all shown", "*"),

		Accept:   bind("enter", "keep", "enter"),
		Complete: bind("tab", "complete", "tab"),
		Abandon:  bind("esc", "clear", "esc"),

		Replay:    bind("r", "replay", "r"),
		ReplayAll: bind("R", "replay all shown", "R"),
		Drop:      bind("d", "drop", "d"),
		DropAll:   bind("D", "drop all shown", "D"),
		Move:      bind("m", "move", "m"),
		Edit:      bind("e", "edit", "e"),
		Export:    bind("x", "export", "x"),
		Copy:      bind("y", "copy", "y"),
		Failed:    bind("f", "failed messages", "f"),
		NextPane:  bind("tab", "next pane", "tab"),
		PrevPane:  bind("shift-tab", "previous pane", "shift+tab"),
		Peek:      bind("ctrl-r", "read again", "ctrl+r"),
		More:      bind("n", "read more", "n"),
		Insist:    bind("i", "insist", "i"),
		Tap:       bind("t", "tap", "t"),
		Earlier:   bind("←", "message before", "left", "h"),
		Later:     bind("→", "message after", "right", "l"),

		CopyBody:    bind("b", "body", "b"),
		CopyHeaders: bind("h", "headers", "h"),
		CopyID:      bind("i", "message id", "i"),
		CopyJSON:    bind("j", "JSON", "j"),

		Chart: bind("c", "chart", "c"),

		Confirm: bind("enter", "do it", "enter"),
		Target:  bind("tab", "other target", "tab"),
		Cancel:  bind("esc", "back", "esc"),

		Canary: bind("c", "canary", "c"),
		GoOn:   bind("enter", "do not wait longer", "enter"),

		ChooseUp:   bind("↑", "up", "up", "ctrl+p"),
		ChooseDown: bind("↓", "down", "down", "ctrl+n"),

		Screens: [5]key.Binding{
			bind("1", "flows", "1"), bind("2", "queues", "2"), bind("3", "failed", "3"), bind("4", "findings", "4"),
			bind("5", "journal", "5"),
		},
		NextScreen: bind("tab", "next screen", "tab"),
		PrevScreen: bind("shift-tab", "previous screen", "shift+tab"),
		Back:       bind("esc", "back", "esc"),
		Quit:       bind("q", "back, or quit", "q"),
		ForceQuit:  bind("ctrl-c", "quit", "ctrl+c"),
		Help:       bind("?", "help", "?"),
		Palette:    bind(":", "command", ":"),
		Undo:       bind("u", "undo", "u"),
		Pause:      bind("p", "pause", "p"),
		ReadNow:    bind("ctrl-r", "read again now", "ctrl+r"),
	}
}

// describe is a binding with other words for the same key, for a screen where it does something particular.
func describe(b key.Binding, what string) key.Binding {
	b.SetHelp(b.Help().Key, what)
	return b
}

// is reports whether a key press is one of a binding's keys.
func is(msg tea.KeyMsg, b key.Binding) bool { return key.Matches(msg, b) }

// motions are the keys that every list understands.
func (k *keyMap) motions() []key.Binding {
	return []key.Binding{k.Up, k.Down, k.Top, k.Bottom, k.HalfUp, k.HalfDown, k.PageUp, k.PageDown}
}
