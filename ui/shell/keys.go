package shell

import (
	"strconv"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// Tabs are the names of the numbered screens; the tabs capitalize them.
var Tabs = [...]string{"flows", "queues", "failed", "findings", "journal"}

// KeyMap holds every key of the program. It is the only place where keys have names: handlers match these bindings, and
// the footer and the help are generated from them.
type KeyMap struct {
	term.ListKeys

	// On a list and in a text field.
	Open, Complete, CompleteBack key.Binding

	// On messages.
	Replay, ReplayAll, Drop, DropAll, Copy, Failed, NextPane, PrevPane, Peek key.Binding
	Causes                                                                   key.Binding
	More, Insist, Earlier, Later, Tap                                        key.Binding
	Move, Edit, Mend, Export, Raw, Fold                                      key.Binding

	// On causes.
	Resolve, Ignore, Note key.Binding

	// On failed queues: when looks begin by themselves.
	Looks, AskEach, WhileHalf, Always key.Binding

	// What to copy of a message.
	CopyBody, CopyHeaders, CopyID, CopyJSON key.Binding

	// On a flow.
	Chart key.Binding

	// In a dialog.
	Confirm, Target, Cancel, ChooseUp, ChooseDown, Canary, CanaryWait, KeepTries, Doubles, Spread, GoOn key.Binding

	// Everywhere.
	Screens                           [len(Tabs)]key.Binding
	NextScreen, PrevScreen            key.Binding
	Back, Last, Quit, ForceQuit, Help key.Binding
	Palette, Pause, ReadNow           key.Binding
	Undo, Resume, Brokers, Suspend    key.Binding
}

func NewKeyMap() *KeyMap {
	k := &KeyMap{
		ListKeys: *term.NewListKeys(),

		Open: term.Binding("enter", "open", "enter"),

		Complete:     term.Binding("tab", "complete", "tab"),
		CompleteBack: term.Binding("shift-tab", "complete the one before", "shift+tab"),

		Replay:    term.Binding("r", "replay", "r"),
		ReplayAll: term.Binding("R", "replay all shown", "R"),
		Drop:      term.Binding("d", "drop", "d"),
		DropAll:   term.Binding("D", "drop all shown", "D"),
		Move:      term.Binding("m", "move", "m"),
		Edit:      term.Binding("e", "edit", "e"),
		Mend:      term.Binding("E", "edit many", "E"),
		Export:    term.Binding("x", "export", "x"),
		Copy:      term.Binding("y", "copy", "y"),
		Raw:       term.Binding("b", "raw body", "b"),
		Fold:      term.Binding("z", "fold the body", "z"),
		Failed:    term.Binding("f", "failed messages", "f"),
		Causes:    term.Binding("F", "causes of failures", "F"),
		NextPane:  term.Binding("tab", "next pane", "tab"),
		PrevPane:  term.Binding("shift-tab", "previous pane", "shift+tab"),
		Peek:      term.Binding("ctrl-r", "read again", "ctrl+r"),
		More:      term.Binding("M", "read more", "M"),
		Insist:    term.Binding("i", "insist", "i"),
		Tap:       term.Binding("t", "tap", "t"),
		Earlier:   term.Binding("←", "message before", "left", "h"),
		Later:     term.Binding("→", "message after", "right", "l"),

		Resolve: term.Binding("o", "resolved", "o"),
		Ignore:  term.Binding("O", "ignore", "O"),
		Note:    term.Binding("W", "write a note", "W"),

		Looks:     term.Binding("L", "when to look", "L"),
		AskEach:   term.Binding("1", "ask each time", "1"),
		WhileHalf: term.Binding("2", "while half is left", "2"),
		Always:    term.Binding("3", "always", "3"),

		CopyBody:    term.Binding("b", "body", "b"),
		CopyHeaders: term.Binding("h", "headers", "h"),
		CopyID:      term.Binding("i", "message id", "i"),
		CopyJSON:    term.Binding("j", "JSON", "j"),

		Chart: term.Binding("c", "chart", "c"),

		Confirm: term.Binding("enter", "do it", "enter"),
		Target:  term.Binding("tab", "other target", "tab"),
		Cancel:  term.Binding("esc", "back", "esc"),

		Canary:     term.Binding("c", "canary", "c"),
		CanaryWait: term.Binding("w", "how long the canary waits", "w"),
		KeepTries:  term.Binding("t", "keep tries", "t"),
		Doubles:    term.Binding("b", "copies, too", "b"),
		Spread:     term.Binding("o", "spread", "o"),
		GoOn:       term.Binding("enter", "do not wait longer", "enter"),

		ChooseUp:   term.Binding("↑", "up", "up", "ctrl+p"),
		ChooseDown: term.Binding("↓", "down", "down", "ctrl+n"),

		NextScreen: term.Binding("tab", "next screen", "tab"),
		PrevScreen: term.Binding("shift-tab", "previous screen", "shift+tab"),
		Back:       term.Binding("esc", "back", "esc"),
		Last:       term.Binding("-", "last screen", "-"),
		Quit:       term.Binding("q", "back, or quit", "q"),
		ForceQuit:  term.Binding("ctrl-c", "quit", "ctrl+c"),
		Help:       term.Binding("?", "help", "?"),
		Palette:    term.Binding(":", "command", ":"),
		Undo:       term.Binding("u", "undo", "u"),
		Resume:     term.Binding("r", "resume", "r"),
		Brokers:    term.Binding("b", "all brokers", "b"),
		Pause:      term.Binding("p", "pause", "p"),
		ReadNow:    term.Binding("ctrl-r", "read again now", "ctrl+r"),
		Suspend:    term.Binding("ctrl-z", "suspend", "ctrl+z"),
	}

	for i, name := range Tabs {
		number := strconv.Itoa(i + 1)
		k.Screens[i] = term.Binding(number, name, number)
	}

	return k
}

// Body are the keys that change how a body is shown: each switches to the other state.
func (k *KeyMap) Body(raw, folded *bool, changed func()) []term.Key {
	turn := func(state *bool) func() {
		return func() {
			*state = !*state
			changed()
		}
	}

	keys := []term.Key{
		term.On(k.Raw, "the body as it lies in the queue; again: decoded", turn(raw)),
		term.On(k.Fold, "fold the body to its outermost level; again: all of it", turn(folded)),
	}

	if *raw {
		keys[0] = keys[0].As("read body")
	}
	if *folded {
		keys[1] = keys[1].As("unfold the body")
	}

	return keys
}

// Unless makes a key say why it cannot be used now; "" changes nothing.
func Unless(why string, k term.Key) term.Key {
	if why == "" {
		return k
	}
	k.Run = func() tea.Cmd { return Notice(why, true) }
	return k.Shown(false)
}

func PressOf(name string) (tea.KeyMsg, bool) {
	if runes := []rune(name); len(runes) == 1 {
		press := tea.KeyMsg{Type: tea.KeyRunes, Runes: runes}
		if name == " " {
			press.Type = tea.KeySpace
		}
		return press, true
	}

	for t := tea.KeyType(-128); t < 128; t++ {
		if press := (tea.KeyMsg{Type: t}); press.String() == name {
			return press, true
		}
	}

	return tea.KeyMsg{}, false
}
