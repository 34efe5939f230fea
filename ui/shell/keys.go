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

		Open: term.Binding("open", "enter"),

		Complete:     term.Binding("complete", "tab"),
		CompleteBack: term.Binding("complete the one before", "shift+tab"),

		Replay:    term.Binding("replay", "r"),
		ReplayAll: term.Binding("replay all shown", "R"),
		Drop:      term.Binding("drop", "d"),
		DropAll:   term.Binding("drop all shown", "D"),
		Move:      term.Binding("move", "m"),
		Edit:      term.Binding("edit", "e"),
		Mend:      term.Binding("edit many", "E"),
		Export:    term.Binding("export", "x"),
		Copy:      term.Binding("copy", "y"),
		Raw:       term.Binding("raw body", "b"),
		Fold:      term.Binding("fold the body", "z"),
		Failed:    term.Binding("failed messages", "f"),
		Causes:    term.Binding("causes of failures", "F"),
		NextPane:  term.Binding("next pane", "tab"),
		PrevPane:  term.Binding("previous pane", "shift+tab"),
		Peek:      term.Binding("read again", "ctrl+r"),
		More:      term.Binding("read more", "M"),
		Insist:    term.Binding("insist", "i"),
		Tap:       term.Binding("tap", "t"),
		Earlier:   term.Binding("message before", "left", "h"),
		Later:     term.Binding("message after", "right", "l"),

		Resolve: term.Binding("resolved", "o"),
		Ignore:  term.Binding("ignore", "O"),
		Note:    term.Binding("write a note", "W"),

		Looks:     term.Binding("when to look", "L"),
		AskEach:   term.Binding("ask each time", "1"),
		WhileHalf: term.Binding("while half is left", "2"),
		Always:    term.Binding("always", "3"),

		CopyBody:    term.Binding("body", "b"),
		CopyHeaders: term.Binding("headers", "h"),
		CopyID:      term.Binding("message id", "i"),
		CopyJSON:    term.Binding("JSON", "j"),

		Chart: term.Binding("chart", "c"),

		Confirm: term.Binding("do it", "enter"),
		Target:  term.Binding("other target", "tab"),
		Cancel:  term.Binding("back", "esc"),

		Canary:     term.Binding("canary", "c"),
		CanaryWait: term.Binding("how long the canary waits", "w"),
		KeepTries:  term.Binding("keep tries", "t"),
		Doubles:    term.Binding("copies, too", "b"),
		Spread:     term.Binding("spread", "o"),
		GoOn:       term.Binding("do not wait longer", "enter"),

		ChooseUp:   term.Binding("up", "up", "ctrl+p"),
		ChooseDown: term.Binding("down", "down", "ctrl+n"),

		NextScreen: term.Binding("next screen", "tab"),
		PrevScreen: term.Binding("previous screen", "shift+tab"),
		Back:       term.Binding("back", "esc"),
		Last:       term.Binding("last screen", "-"),
		Quit:       term.Binding("back, or quit", "q"),
		ForceQuit:  term.Binding("quit", "ctrl+c"),
		Help:       term.Binding("help", "?"),
		Palette:    term.Binding("command", ":"),
		Undo:       term.Binding("undo", "u"),
		Resume:     term.Binding("resume", "r"),
		Brokers:    term.Binding("all brokers", "b"),
		Pause:      term.Binding("pause", "p"),
		ReadNow:    term.Binding("read again now", "ctrl+r"),
		Suspend:    term.Binding("suspend", "ctrl+z"),
	}

	for i, name := range Tabs {
		number := strconv.Itoa(i + 1)
		k.Screens[i] = term.Binding(name, number)
	}

	return k
}

// Body returns the keys that change how a body is shown: each switches to the other state.
func (k *KeyMap) Body(raw, folded *bool, changed func()) []term.Key {
	turn := func(state *bool) func() {
		return func() {
			*state = !*state
			changed()
		}
	}

	return []term.Key{
		term.On(k.Raw, "the body as it lies in the queue; again: decoded", turn(raw)).AsIf(*raw, "read body"),
		term.On(k.Fold, "fold the body to its outermost level; again: all of it", turn(folded)).
			AsIf(*folded, "unfold the body"),
	}
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
