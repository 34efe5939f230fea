package shell

import (
	"strconv"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Tabs are the names of the numbered screens; the tabs capitalize them.
var Tabs = [...]string{"flows", "queues", "failed", "findings", "journal"}

// Screens are the keys of the numbered screens.
var Screens = func() (keys [len(Tabs)]key.Binding) {
	for i, name := range Tabs {
		keys[i] = press.Binding(name, strconv.Itoa(i+1))
	}
	return keys
}()

// BodyKeys returns the keys that change how a body is shown: each switches to the other state.
func BodyKeys(raw, folded *bool, changed func()) []term.Key {
	turn := func(state *bool) func() {
		return func() {
			*state = !*state
			changed()
		}
	}

	return []term.Key{
		term.On(press.Raw, "the body as it lies in the queue; again: decoded", turn(raw)).AsIf(*raw, "read body"),
		term.On(press.Fold, "fold the body to its outermost level; again: all of it", turn(folded)).
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
		typed := tea.KeyMsg{Type: tea.KeyRunes, Runes: runes}
		if name == " " {
			typed.Type = tea.KeySpace
		}
		return typed, true
	}

	for t := tea.KeyType(-128); t < 128; t++ {
		if typed := (tea.KeyMsg{Type: t}); typed.String() == name {
			return typed, true
		}
	}

	return tea.KeyMsg{}, false
}
